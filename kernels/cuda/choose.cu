// Draws from rows of weights, a block for each row. Sums are doubles, added in an order that the
// row's length fixes.
#include "kernels/calls/random.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce_block.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / kWarp;

template <class T>
struct Rows {
  int64_t* y;
  const T* p;
  const double* u;
  int64_t n, wanted;
};

struct Segment {
  int64_t begin, end;

  __device__ int64_t length() const { return end - begin; }
  // One of so many parts, which are as even as can be.
  __device__ Segment part(int i, int parts) const {
    return {begin + length() * i / parts, begin + length() * (i + 1) / parts};
  }
};

// The sum of a warp's weights; NaN if one of them is none.
template <class T>
__device__ __forceinline__ double sum_of_warp(const T* row, const Segment& of) {
  const auto add = [](double a, double b) { return a + b; };
  double sum = 0;
#pragma unroll 8
  for (int64_t j = of.begin + threadIdx.x % kWarp; j < of.end; j += kWarp)
    sum += row[j] >= 0 ? static_cast<double>(row[j]) : NAN;
  return warp_reduce(sum, add);
}

template <class T>
__device__ __forceinline__ double sum_of_lane(const T* row, const Segment& of) {
  double sum = 0;
#pragma unroll 8
  for (int64_t j = of.begin; j < of.end; ++j) sum += static_cast<double>(row[j]);
  return sum;
}

// The first element of the segment at which the sum exceeds the target, given the sum before it.
// A warp cuts the segment into parts until one element is left; where rounding lets all sums stay
// below, it takes the last part that has a weight.
template <class T>
__device__ __forceinline__ int64_t position_of(const T* row, Segment in, double before,
                                               double target) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  while (in.length() > 1) {
    const double own = sum_of_lane(row, in.part(lane, kWarp));
    const double up_to = inclusive_over_lanes(own);
    const unsigned weighs = __ballot_sync(~0u, own > 0),
                   exceeds = __ballot_sync(~0u, own > 0 && before + up_to > target);
    const int chosen = exceeds ? __ffs(static_cast<int>(exceeds)) - 1
                               : kWarp - 1 - __clz(static_cast<int>(weighs));
    if (chosen > 0) before += __shfl_sync(~0u, up_to, chosen - 1);
    in = in.part(chosen, kWarp);
  }
  return in.begin;
}

template <class T>
__global__ void __launch_bounds__(kThreads) choose_kernel(Rows<T> rows) {
  begin_kernel();
  __shared__ double sums[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const T* const row = rows.p + blockIdx.x * rows.n;
  const Segment all = {0, rows.n};
  const double own = sum_of_warp(row, all.part(warp, kWarps));
  if (lane == 0) sums[warp] = own;
  __syncthreads();
  double total = 0;
  for (int w = 0; w < kWarps; ++w) total += sums[w];
  const bool is_distribution = total > 0 && total < INFINITY;
  for (int64_t i = warp; i < rows.wanted; i += kWarps) {
    const int64_t at = blockIdx.x * rows.wanted + i;
    const double target = rows.u[at] * total * (1 - 0x1p-52);
    int chosen = 0;
    double before = 0;
    for (int w = 0; w < kWarps && before + sums[w] <= target; ++w)
      before += sums[w], chosen = w + 1;
    while (chosen > 0 && (chosen == kWarps || sums[chosen] == 0)) before -= sums[--chosen];
    const int64_t j =
        is_distribution ? position_of(row, all.part(chosen, kWarps), before, target) : -1;
    if (lane == 0) rows.y[at] = j;
  }
}

}  // namespace

int32_t kernels::choose(const dt_stream* stream, const calls::Choose& call) {
  const int64_t count = call.p.sizes[0], n = call.p.sizes[1], wanted = call.u.sizes[1];
  // Blocks for short rows, and one block for many choices, are left to a scan and a search.
  if (n < kThreads || wanted > kWarps) return DT_KERNEL_UNSUPPORTED;
  return visit_floating(call.p.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    const Rows<T> rows = {static_cast<int64_t*>(call.y.data), static_cast<const T*>(call.p.data),
                          static_cast<const double*>(call.u.data), n, wanted};
    return launch(stream, choose_kernel<T>, dim3(static_cast<unsigned>(count)), dim3(kThreads), 0,
                  rows);
  });
}

}  // namespace dt::cuda
