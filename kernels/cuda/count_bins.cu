// count_bins: how many elements lie in each bin, or whether any does. Integers are counted, so the
// order does not matter.
#include <algorithm>

#include "kernels/calls/sorting.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksEach = 4;     // of a multiprocessor
constexpr int kUnrolled = 4;       // elements of a thread that are on their way together
constexpr int kMostShared = 8192;  // counters of a block

// Count: int64_t, or bool for whether there are any.
template <class T, class Count>
struct Bins {
  Count* y;
  const T* x;
  int64_t n, bins;
  int64_t first;  // the integer of bin 0
  T low, high;
  int copies;  // of each counter in shared memory; 0: there are none

  // The bin of an element, or -1. In the steps that an op for each would take.
  template <bool kEqual>
  __device__ __forceinline__ int64_t of(T element) const {
    if constexpr (kEqual) {
      if (!(element >= low && element <= high)) return -1;
      const T place = (element - low) * static_cast<T>(bins) / (high - low);
      // What overflows is past the last bin; 0 / 0, of bounds that rounding made one, is the first.
      if (place >= static_cast<T>(bins)) return bins - 1;
      return place >= T(0) ? static_cast<int64_t>(place) : 0;
    } else {
      const uint64_t bin = static_cast<uint64_t>(element) - static_cast<uint64_t>(first);
      return bin < static_cast<uint64_t>(bins) ? static_cast<int64_t>(bin) : -1;
    }
  }
};

__device__ __forceinline__ void add(int64_t* counter, uint32_t count) {
  atomicAdd(reinterpret_cast<unsigned long long*>(counter), (unsigned long long){count});
}
__device__ __forceinline__ void add(bool* mark, uint32_t) {
  *mark = true;
}

// Calls use(bin) for the elements of this thread.
template <bool kEqual, class T, class Count, class Use>
__device__ __forceinline__ void for_each_bin(const Bins<T, Count>& call, const Use& use) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  const int64_t begin = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (int64_t i = begin; i < call.n; i += kUnrolled * step) {
    T element[kUnrolled] = {};
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) {
      if (i + k * step < call.n) element[k] = call.x[i + k * step];
    }
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) {
      const int64_t bin = i + k * step < call.n ? call.template of<kEqual>(element[k]) : -1;
      if (bin >= 0) use(bin);
    }
  }
}

// Few bins: blocks count for themselves. Many elements of a warp lie in the same bin, and would
// wait for each other: lanes have counters of their own, as far as there is room, side by side in
// the banks of shared memory.
template <bool kEqual, class T, class Count>
__global__ void __launch_bounds__(kThreads) count_in_blocks(Bins<T, Count> call) {
  begin_kernel();
  __shared__ uint32_t counters[kMostShared];
  const int thread = static_cast<int>(threadIdx.x), bins = static_cast<int>(call.bins);
  for (int i = thread; i < bins * call.copies; i += kThreads) counters[i] = 0;
  __syncthreads();
  uint32_t* const own = counters + thread % call.copies;
  for_each_bin<kEqual>(
      call, [&](int64_t bin) { atomicAdd(own + static_cast<int>(bin) * call.copies, 1u); });
  __syncthreads();
  for (int bin = thread; bin < bins; bin += kThreads) {
    uint32_t sum = 0;
    for (int k = 0; k < call.copies; ++k)  // begins at the thread's own bank
      sum += counters[bin * call.copies + (thread + k) % call.copies];
    if (sum > 0) add(call.y + bin, sum);
  }
}

template <bool kEqual, class T, class Count>
__global__ void __launch_bounds__(kThreads) count_at_once(Bins<T, Count> call) {
  begin_kernel();
  for_each_bin<kEqual>(call, [&](int64_t bin) { add(call.y + bin, 1); });
}

int copies_of(int64_t bins) {
  int copies = bins <= kMostShared ? 1 : 0;
  while (copies > 0 && copies < kWarp && 2 * copies * bins <= kMostShared) copies *= 2;
  return copies;
}

template <bool kEqual, class T, class Count>
int32_t count(const dt_stream* stream, const Bins<T, Count>& call) {
  const int64_t most = int64_t{multiprocessors(stream->device)} * kBlocksEach;
  const int64_t blocks = std::min(divide_up(call.n, int64_t{kThreads} * kUnrolled), most);
  const auto kernel =
      call.copies > 0 ? count_in_blocks<kEqual, T, Count> : count_at_once<kEqual, T, Count>;
  return launch(stream, kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, call);
}

template <bool kEqual, class Count, class T>
int32_t count_bins_of(const dt_stream* stream, const calls::CountBins& call) {
  const dt_view &x = call.x, &y = call.y;
  return count<kEqual>(
      stream, Bins<T, Count>{static_cast<Count*>(y.data), static_cast<const T*>(x.data), numel(x),
                             numel(y), call.first, static_cast<T>(call.low),
                             static_cast<T>(call.high), copies_of(numel(y))});
}

}  // namespace

int32_t kernels::count_bins(const dt_stream* stream, const calls::CountBins& call) {
  return visit_number(call.x.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    if (kIsFloating<T> != call.equal) return DT_KERNEL_UNSUPPORTED;
    const bool counts = holds<int64_t>(call.y.dtype);
    if constexpr (kIsFloating<T>)
      return counts ? count_bins_of<true, int64_t, T>(stream, call) : DT_KERNEL_UNSUPPORTED;
    else if (counts)
      return count_bins_of<false, int64_t, T>(stream, call);
    else
      return count_bins_of<false, bool, T>(stream, call);
  });
}

}  // namespace dt::cuda
