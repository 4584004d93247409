// Draws from rows of weights. A row is cut into parts, and what these weigh tells which of them an
// element is drawn from; its own parts are weighed again until one element is left. Sums are
// doubles, added in an order that the sizes of the call fix.
#include "kernels/calls/random.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce_block.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

// Choices of a row, which its warps make one after another.
constexpr int64_t kMostWanted = 32;
constexpr int kLoads = 8;  // of a lane that are on their way at once

template <class T>
struct Rows {
  int64_t* y;
  const T* p;
  const double* u;
  int64_t count, n, wanted;
};

// The warps that have a row, and how many of its parts each of them weighs. A row that is a warp's
// waits for no other warp, and a multiprocessor has many such rows on their way at once.
template <int kRowWarps, int kWarpParts>
struct Shape {
  static constexpr int warps = kRowWarps, of_warp = kWarpParts, parts = warps * of_warp;
  using Rank = Team<warps * kWarp>;

  static __device__ __forceinline__ void sync() {
    if constexpr (warps == 1)
      __syncwarp();
    else
      __syncthreads();
  }
};

struct Segment {
  int64_t begin, end;

  __device__ int64_t length() const { return end - begin; }
  // One of so many parts, which are as even as can be.
  __device__ Segment part(int i, int parts) const {
    return {begin + length() * i / parts, begin + length() * (i + 1) / parts};
  }
};

template <class T>
__device__ __forceinline__ double checked(T weight) {
  return weight >= 0 ? static_cast<double>(weight) : NAN;
}

__device__ __forceinline__ double lanes_sum(double value) {
  return warp_reduce(value, [](double a, double b) { return a + b; });
}

// The sum of a part, of the warp's lanes together; NaN if one of the weights is none.
template <class T>
__device__ __forceinline__ double sum_of_warp(const T* row, const Segment& of) {
  double sum = 0;
#pragma unroll 8
  for (int64_t j = of.begin + threadIdx.x % kWarp; j < of.end; j += kWarp) sum += checked(row[j]);
  return lanes_sum(sum);
}

// The same of neighbours among a row's parts, whose weights are on their way at once.
template <class S, class T>
__device__ __forceinline__ void weigh(const T* row, const Segment& all, int first,
                                      double (&sum)[S::of_warp]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Segment part[S::of_warp];
#pragma unroll
  for (int k = 0; k < S::of_warp; ++k) part[k] = all.part(first + k, S::parts), sum[k] = 0;
  const int64_t longest = (all.length() + S::parts - 1) / S::parts;
#pragma unroll(kLoads / S::of_warp)
  for (int64_t j = lane; j < longest; j += kWarp) {
    T weight[S::of_warp] = {};
#pragma unroll
    for (int k = 0; k < S::of_warp; ++k) {
      if (part[k].begin + j < part[k].end) weight[k] = row[part[k].begin + j];
    }
#pragma unroll
    for (int k = 0; k < S::of_warp; ++k) sum[k] += checked(weight[k]);
  }
#pragma unroll
  for (int k = 0; k < S::of_warp; ++k) sum[k] = lanes_sum(sum[k]);
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

template <class T, class S>
__global__ void __launch_bounds__(S::Rank::block) choose_kernel(Rows<T> rows) {
  begin_kernel();
  __shared__ double team_sums[S::Rank::per_block][S::parts];
  const int warp = S::Rank::rank() / kWarp, lane = S::Rank::rank() % kWarp;
  const int64_t number = int64_t{blockIdx.x} * S::Rank::per_block + S::Rank::number();
  if (number >= rows.count) return;
  double* const sums = team_sums[S::Rank::number()];
  const T* const row = rows.p + number * rows.n;
  const Segment all = {0, rows.n};
  double own[S::of_warp];
  if constexpr (S::of_warp == 1)
    own[0] = sum_of_warp(row, all.part(warp, S::parts));
  else
    weigh<S>(row, all, warp * S::of_warp, own);
#pragma unroll
  for (int k = 0; k < S::of_warp; ++k) {
    if (lane == k) sums[warp * S::of_warp + k] = own[k];
  }
  S::sync();
  double total = 0;
  for (int i = 0; i < S::parts; ++i) total += sums[i];
  const bool is_distribution = total > 0 && total < INFINITY;
  for (int64_t i = warp; i < rows.wanted; i += S::warps) {
    const int64_t at = number * rows.wanted + i;
    const double target = rows.u[at] * total * (1 - 0x1p-52);
    int chosen = 0;
    double before = 0;
    for (int k = 0; k < S::parts && before + sums[k] <= target; ++k)
      before += sums[k], chosen = k + 1;
    while (chosen > 0 && (chosen == S::parts || sums[chosen] == 0)) before -= sums[--chosen];
    const int64_t j =
        is_distribution ? position_of(row, all.part(chosen, S::parts), before, target) : -1;
    if (lane == 0) rows.y[at] = j;
  }
}

template <class S, class T>
int32_t run(const dt_stream* stream, const Rows<T>& rows) {
  const int64_t blocks = divide_up(rows.count, S::Rank::per_block);
  return launch(stream, choose_kernel<T, S>, dim3(static_cast<unsigned>(blocks)),
                dim3(S::Rank::block), 0, rows);
}

// Rows that are enough to keep a device busy though a few warps have each: one row then takes
// longer, and the more so, the more is chosen of it.
template <class T>
bool are_many(const Rows<T>& rows) {
  return rows.count >= 128 * (rows.wanted + 3);
}

template <class T>
int32_t choose_from(const dt_stream* stream, const Rows<T>& rows) {
  if (!are_many(rows) || rows.n > 8192) return run<Shape<32, 1>>(stream, rows);
  if (rows.n <= 256) return run<Shape<1, 1>>(stream, rows);
  if (rows.n <= 2048) return run<Shape<1, 8>>(stream, rows);
  return run<Shape<8, 4>>(stream, rows);
}

}  // namespace

int32_t kernels::choose(const dt_stream* stream, const calls::Choose& call) {
  const int64_t count = call.p.sizes[0], n = call.p.sizes[1], wanted = call.u.sizes[1];
  // Many choices are left to a scan and a search.
  if (wanted > kMostWanted) return DT_KERNEL_UNSUPPORTED;
  return visit_floating(call.p.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    const Rows<T> rows = {static_cast<int64_t*>(call.y.data),
                          static_cast<const T*>(call.p.data),
                          static_cast<const double*>(call.u.data),
                          count,
                          n,
                          wanted};
    return choose_from(stream, rows);
  });
}

}  // namespace dt::cuda
