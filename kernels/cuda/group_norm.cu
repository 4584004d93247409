// group_norm of contiguous [N,C,L]: the elements of a group lie side by side, and a block has one
// group. It keeps what its threads have room for, so that memory is read once.
#include "kernels/calls/nn.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/moments.cuh"
#include "kernels/cuda/operands.cuh"
#include "kernels/cuda/pool_window.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 512;
template <class T>
constexpr int kKept = 32 / static_cast<int>(sizeof(T));  // elements of a thread

template <class T>
struct GroupNorm {
  T *y, *mean, *rstd;
  const T *x, *weight, *bias;       // weight and bias may be null
  int32_t groups, per_group, size;  // channels of a group, and its elements
  Divider<int32_t> by_length;       // elements of a channel
  T eps;
};

// A group's elements, read once if each thread has room for its own, else each time.
template <class T, bool kKeeps>
struct GroupElements {
  const T* x;
  T kept[kKeeps ? kKept<T> : 1];

  __device__ __forceinline__ GroupElements(const T* x, int32_t size) : x(x) {
    if constexpr (kKeeps) {
#pragma unroll
      for (int i = 0; i < kKept<T>; ++i) {
        const int32_t at = static_cast<int32_t>(threadIdx.x) + i * kThreads;
        kept[i] = at < size ? x[at] : T(0);
      }
    }
  }
  template <class Body>
  __device__ __forceinline__ void for_each(int32_t size, const Body& body) const {
    if constexpr (kKeeps) {
#pragma unroll
      for (int i = 0; i < kKept<T>; ++i) {
        const int32_t at = static_cast<int32_t>(threadIdx.x) + i * kThreads;
        if (at < size) body(at, kept[i]);
      }
    } else {
#pragma unroll 4
      for (int32_t at = static_cast<int32_t>(threadIdx.x); at < size; at += kThreads)
        body(at, x[at]);
    }
  }
};

// The first round's mean may be rounded, but does not overflow; the second measures by how much it
// is off, so that a large mean costs no digits.
template <class T, bool kKeeps>
__global__ void __launch_bounds__(kThreads)
    group_norm_kernel(const __grid_constant__ GroupNorm<T> call) {
  begin_kernel();
  const int64_t row = blockIdx.x, first = row * call.size;
  const int32_t channel = static_cast<int32_t>(row % call.groups) * call.per_group;
  const GroupElements<T, kKeeps> elements(call.x + first, call.size);
  const T count = static_cast<T>(call.size), share = T(1) / count;
  T sum = 0;
  elements.for_each(call.size, [&](int32_t, T x) { sum += x * share; });
  const T guess = team_sum<kThreads>(sum);
  T off = 0, squares = 0;
  elements.for_each(call.size, [&](int32_t, T x) {
    off += x - guess;
    squares += (x - guess) * (x - guess);
  });
  off = team_sum<kThreads>(off);
  squares = team_sum<kThreads>(squares) - off / count * off;
  const T mean = guess + off / count;
  const T rstd = T(1) / math::sqrt(not_negative(squares) / count + call.eps);
  elements.for_each(call.size, [&](int32_t at, T x) {
    const int32_t c = channel + call.by_length(at);
    const T weight = call.weight ? call.weight[c] : T(1), bias = call.bias ? call.bias[c] : T(0);
    call.y[first + at] = (x - mean) * rstd * weight + bias;
  });
  if (threadIdx.x > 0) return;
  call.mean[row] = mean;
  call.rstd[row] = rstd;
}

// Few long groups would leave most of the device idle: batch_norm's kernels share those out.
bool is_for_blocks(const dt_stream* stream, int64_t rows, int64_t size) {
  constexpr int64_t kLong = 1 << 15;
  return size <= kLong || (rows >= 2 * multiprocessors(stream->device) && size < kMaxIndex32);
}

}  // namespace

int32_t kernels::group_norm(const dt_stream* stream, const calls::GroupNorm& call) {
  const int64_t rows = numel(call.mean), size = numel(call.x) / rows;
  if (!is_for_blocks(stream, rows, size)) return DT_KERNEL_UNSUPPORTED;
  return visit_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const int64_t groups = rows / call.x.sizes[0];
    const GroupNorm<T> kernel = {static_cast<T*>(call.y.data),
                                 static_cast<T*>(call.mean.data),
                                 static_cast<T*>(call.rstd.data),
                                 static_cast<const T*>(call.x.data),
                                 optional_data<const T>(call.weight),
                                 optional_data<const T>(call.bias),
                                 static_cast<int32_t>(groups),
                                 static_cast<int32_t>(call.x.sizes[1] / groups),
                                 static_cast<int32_t>(size),
                                 Divider<int32_t>(call.x.sizes[2]),
                                 static_cast<T>(call.eps)};
    const bool keeps = size <= kThreads * kKept<T>;
    return launch(stream, keeps ? group_norm_kernel<T, true> : group_norm_kernel<T, false>,
                  dim3(static_cast<unsigned>(rows)), dim3(kThreads), 0, kernel);
  });
}

// The sums over channels are batch_norm's business, and the rest is elementwise.
int32_t kernels::group_norm_backward(const dt_stream*, const calls::GroupNormBackward&) {
  return DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::cuda
