// Losses that are reduced while they are computed.
#include <algorithm>

#include "kernels/calls/loss.gen.h"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/reduce_block.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kAtOnce = 4;  // packets that a thread loads before it uses the first

__device__ __forceinline__ double add_up(double sum) {
  return block_reduce<kThreads>(
      sum, [](double a, double b) { return a + b; }, 0.0);
}

// Where a block leaves its sum: the result, if it is the only one.
template <class T>
struct Target {
  T* y;
  double* partial;  // null: the result
  double divisor;

  __device__ __forceinline__ void store(double sum) const {
    if (partial != nullptr)
      partial[blockIdx.x] = sum;
    else
      *y = static_cast<T>(sum / divisor);
  }
};

template <class T>
struct Slope {
  T* data;  // null: not wanted
  T scale;
};

// Stores the slope of the packet that begins at element `at`.
template <class T, int kWidth>
__device__ __forceinline__ double squared_errors(const Packet<T, kWidth>& x,
                                                 const Packet<T, kWidth>& target,
                                                 const Slope<T>& slope, int64_t at) {
  T sum = 0;
  Packet<T, kWidth> slopes;
#pragma unroll
  for (int v = 0; v < kWidth; ++v) {
    const T error = x.value[v] - target.value[v];
    slopes.value[v] = slope.scale * error;
    sum += error * error;
  }
  if (slope.data != nullptr) store_packet(slope.data + at, slopes);
  return static_cast<double>(sum);
}

// Threads go through the packets side by side; sums of many elements are doubles, which memory
// leaves time for.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    squared_error_sums(const T* x, const T* target, int64_t n, Slope<T> slope, Target<T> to) {
  begin_kernel();
  const int64_t packets = n / kWidth, step = int64_t{gridDim.x} * kThreads;
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  double sum = 0;
  int64_t i = thread;
  for (; i + (kAtOnce - 1) * step < packets; i += kAtOnce * step) {
    Packet<T, kWidth> a[kAtOnce], b[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      a[k] = load_packet<kWidth>(x + (i + k * step) * kWidth);
      b[k] = load_packet<kWidth>(target + (i + k * step) * kWidth);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      sum += squared_errors(a[k], b[k], slope, (i + k * step) * kWidth);
  }
  for (; i < packets; i += step)
    sum += squared_errors(load_packet<kWidth>(x + i * kWidth),
                          load_packet<kWidth>(target + i * kWidth), slope, i * kWidth);
  const int64_t rest = packets * kWidth + thread;
  if (rest < n)
    sum += squared_errors(load_packet<1>(x + rest), load_packet<1>(target + rest), slope, rest);
  sum = add_up(sum);
  if (threadIdx.x == 0) to.store(sum);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    add_partials(const double* partial, int count, Target<T> to) {
  begin_kernel();
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += partial[i];
  sum = add_up(sum);
  if (threadIdx.x == 0) to.store(sum);
}

// Blocks that fill a large device: a constant, so that the bits of a result follow from its size.
// One block serves what it can read in a few rounds, and saves the second launch.
int64_t blocks_for(int64_t n) {
  constexpr int64_t kManyBlocks = 1024, kAlone = 8 * 4 * kThreads;
  return n <= kAlone ? 1 : std::min(kManyBlocks, divide_up(n, kAlone));
}

template <class T>
int32_t run(const dt_stream* stream, const calls::SquaredErrorSum& call) {
  const T *x = static_cast<const T*>(call.x.data),
          *target = static_cast<const T*>(call.target.data);
  const int64_t n = call.x.sizes[0], blocks = blocks_for(n);
  Target<T> to = {static_cast<T*>(call.y.data), nullptr, call.divisor};
  const Target<T> result = to;
  if (blocks > 1) to.partial = static_cast<double*>(call.workspace);
  const Slope<T> slope = {optional_data<T>(call.slope), static_cast<T>(2 / call.divisor)};
  const bool aligned = is_aligned(x, kPacketBytes) && is_aligned(target, kPacketBytes) &&
                       is_aligned(slope.data, kPacketBytes);
  const auto kernel = aligned ? squared_error_sums<T, kPacketWidth<T>> : squared_error_sums<T, 1>;
  const int32_t code =
      launch(stream, kernel, static_cast<unsigned>(blocks), kThreads, 0, x, target, n, slope, to);
  if (code != DT_KERNEL_OK || blocks == 1) return code;
  return launch(stream, add_partials<T>, 1, kThreads, 0, static_cast<const double*>(to.partial),
                static_cast<int>(blocks), result);
}

}  // namespace

int32_t kernels::squared_error_sum(const dt_stream* stream, const calls::SquaredErrorSum& call) {
  return visit_floating(
      call.y.dtype, [&](auto type) { return run<typename decltype(type)::type>(stream, call); });
}

int64_t kernels::squared_error_sum_workspace(const dt_stream*, const calls::SquaredErrorSum& call) {
  const int64_t blocks = blocks_for(call.x.sizes[0]);
  return blocks > 1 ? blocks * static_cast<int64_t>(sizeof(double)) : 0;
}

}  // namespace dt::cuda
