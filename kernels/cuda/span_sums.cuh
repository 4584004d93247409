// Sums of single elements through indices that repeat, of many: half a sort does.
//
// Keys are destinations (see sorted_writes.cuh), values travel with them, and both are sorted,
// stably, by the keys' upper bits alone: what follows each other then belongs to one span of
// destinations, in the order of positions. A warp has the sums of a span in shared memory and adds
// the values of a chunk to them in that order, so the result is always the same. A span that goes
// on in another chunk leaves its sums to a second kernel, which adds up those of all its chunks.
#pragma once

#include <algorithm>

#include "kernels/cuda/scratch.h"
#include "kernels/cuda/split_plan.cuh"

namespace dt::cuda {

constexpr int kTermThreads = 512;
constexpr int kSpanThreads = 128, kSpanWarps = kSpanThreads / kWarp;

struct SpanShape {
  uint32_t count, nowhere;  // of positions; the key of a bad index
  int low_bits, key_bits;   // that are not sorted by; of a key
  uint32_t chunk, chunks;   // positions of a warp

  // Few spans would leave many warps idle; the sums of large ones would not fit.
  explicit SpanShape(const SplitPlan& split) : key_bits(split.key_bits()) {
    constexpr int kSpanBits = 12, kMostLowBits = 11;
    constexpr int64_t kWarps = 2048, kShortest = 256, kLongest = 8192;
    count = static_cast<uint32_t>(split.positions.count());
    nowhere = static_cast<uint32_t>(split.nowhere());
    low_bits = std::min(key_bits - kSpanBits, kMostLowBits);
    int64_t length = kShortest;
    while (length < kLongest && length * kWarps < count) length *= 2;
    chunk = static_cast<uint32_t>(length);
    chunks = static_cast<uint32_t>(divide_up(count, length));
  }

  // Fewer bits than a pass of the sort, or more than two, would be no gain.
  bool is_worth_it() const {
    constexpr int kFewestLowBits = 5, kTwoPasses = 16;
    return low_bits >= kFewestLowBits && key_bits - low_bits <= kTwoPasses;
  }
  __host__ __device__ uint32_t span() const { return 1u << low_bits; }
};

// Whether every key below the extent is a destination: spans are read and written as a whole.
inline bool has_no_gaps(const SplitPlan& split) {
  const IndexPlan& p = split.positions;
  int64_t destinations = 1;
  for (int d = 0; d < p.ndim; ++d) destinations *= p.indexed[d] != 0 ? p.sizes[d] : 1;
  for (int k = 0; k < p.selectors; ++k) destinations *= p.selector[k].size;
  return destinations == split.extent;
}

#ifdef __CUDACC__

template <class T, class Op>
struct SpanSums {
  using Value = T;
  T* y;
  Values<T> values;
  SpanShape shape;
  int64_t unit, lowest;
  Op op;
  uint32_t* keys;
  float* terms;          // the values, weighted
  float *heads, *tails;  // [chunks][span]: sums of what began in an earlier chunk, or goes on in one

  __device__ __forceinline__ T& at(uint32_t key) const {
    return y[static_cast<int64_t>(key) * unit + lowest];
  }
  __device__ __forceinline__ uint32_t span_of(uint32_t position) const {
    return keys[position] >> shape.low_bits;
  }
  // Whether the span of position i has positions before it, and behind it.
  __device__ __forceinline__ bool began_before(uint32_t i) const {
    return i > 0 && span_of(i - 1) == span_of(i);
  }
  __device__ __forceinline__ bool goes_on(uint32_t i) const {
    return i + 1 < shape.count && span_of(i + 1) == span_of(i);
  }
  __device__ __forceinline__ uint32_t end_of(uint32_t chunk) const {
    return min(shape.count, (chunk + 1) * shape.chunk);
  }
};

template <int kSelectors, class T, class Op>
__global__ void __launch_bounds__(kTermThreads) make_terms(SpanSums<T, Op> sums, KeyMaker maker) {
  begin_kernel();
  const uint32_t position = blockIdx.x * kTermThreads + threadIdx.x;
  if (position >= sums.shape.count) return;
  int64_t plain, offset;
  const bool is_right = maker.positions.at<kSelectors>(position, maker.complaint, &plain, &offset);
  const T value = sums.values.template load<1>(plain).value[0];
  sums.keys[position] = is_right ? static_cast<uint32_t>(offset - maker.lowest) : sums.shape.nowhere;
  sums.terms[position] = static_cast<float>(sums.op.weigh(value));
}

// Adds a term of each lane to the table. Lanes of one place add up in their order.
__device__ __forceinline__ void add_terms(float* table, uint32_t place, float term, bool has_term) {
  const unsigned lanes = __ballot_sync(0xffffffffu, has_term);
  if (!has_term) return;
  unsigned others = __match_any_sync(lanes, place);
  const int lane = static_cast<int>(threadIdx.x % kWarp), first = __ffs(others) - 1;
  float sum = table[place] + term;
  others = lane == first ? others & (others - 1) : 0;
  while (__any_sync(lanes, others != 0)) {
    const float next = __shfl_sync(lanes, term, others != 0 ? __ffs(others) - 1 : lane);
    if (others != 0) sum += next;
    others &= others - 1;
  }
  if (lane == first) table[place] = sum;
}

// A warp's span: where its sums begin, and where they go.
template <class Sums>
struct SpanOfChunk {
  const Sums& sums;
  float* table;
  uint32_t first;  // key
  float* left_to;  // null: the sums are y's

  // `position`: the first of the span in the chunk.
  __device__ __forceinline__ SpanOfChunk(const Sums& sums_, float* table_, uint32_t chunk,
                                         uint32_t position)
      : sums(sums_), table(table_), left_to(nullptr) {
    const uint32_t span = sums.span_of(position), last = sums.end_of(chunk) - 1;
    first = span << sums.shape.low_bits;
    const int64_t slot = static_cast<int64_t>(chunk) << sums.shape.low_bits;
    if (sums.began_before(position))
      left_to = sums.heads + slot;
    else if (sums.span_of(last) == span && sums.goes_on(last))
      left_to = sums.tails + slot;
    // What gets no term stays as it is, since -0 is what may be added to everything.
    for (uint32_t i = threadIdx.x % kWarp; i < sums.shape.span(); i += kWarp) {
      const bool is_there = left_to == nullptr && first + i < sums.shape.nowhere;
      table[i] = is_there ? static_cast<float>(sums.at(first + i)) : -0.0f;
    }
    __syncwarp();
  }
  __device__ __forceinline__ void store() const {
    __syncwarp();
    for (uint32_t i = threadIdx.x % kWarp; i < sums.shape.span(); i += kWarp) {
      if (left_to != nullptr)
        left_to[i] = table[i];
      else if (first + i < sums.shape.nowhere)
        sums.at(first + i) = static_cast<typename Sums::Value>(table[i]);
    }
    __syncwarp();
  }
};

template <class Sums>
__global__ void __launch_bounds__(kSpanThreads) sum_chunks(Sums sums) {
  begin_kernel();
  extern __shared__ float tables[];
  const uint32_t chunk = blockIdx.x * kSpanWarps + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (chunk >= sums.shape.chunks) return;
  float* const table = tables + (threadIdx.x / kWarp << sums.shape.low_bits);
  const uint32_t end = sums.end_of(chunk);
  uint32_t begin = chunk * sums.shape.chunk;
  while (begin < end) {
    const SpanOfChunk<Sums> span(sums, table, chunk, begin);
    bool goes_on = true;
    while (goes_on) {
      const uint32_t position = begin + lane;
      const uint32_t key = position < end ? sums.keys[position] : ~0u;
      const float term = position < end ? sums.terms[position] : 0.0f;
      const uint32_t place = key - span.first;
      const bool is_in = position < end && place < sums.shape.span();
      add_terms(table, place, term, is_in && key != sums.shape.nowhere);
      const int taken = __popc(__ballot_sync(0xffffffffu, is_in));
      begin += taken;
      goes_on = taken == kWarp && begin < end;
      __syncwarp();
    }
    span.store();
  }
}

// A block for each chunk adds up the span that began in it and goes on, if there is one.
template <class Sums>
__global__ void __launch_bounds__(kSpanThreads) join_chunks_of_spans(Sums sums) {
  begin_kernel();
  const uint32_t chunk = blockIdx.x, last = sums.end_of(chunk) - 1;
  if (!sums.goes_on(last)) return;
  const uint32_t span = sums.span_of(last), begin = chunk * sums.shape.chunk;
  if (sums.span_of(begin) == span && sums.began_before(begin)) return;
  uint32_t low = last + 1, high = sums.shape.count;  // the first position behind the span
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (sums.span_of(middle) == span)
      low = middle + 1;
    else
      high = middle;
  }
  const uint32_t end_chunk = (low - 1) / sums.shape.chunk + 1;
  for (uint32_t i = threadIdx.x; i < sums.shape.span(); i += kSpanThreads) {
    const uint32_t key = (span << sums.shape.low_bits) + i;
    if (key >= sums.shape.nowhere) return;
    const auto slot = [&](uint32_t c) { return (static_cast<int64_t>(c) << sums.shape.low_bits) + i; };
    float sum = static_cast<float>(sums.at(key)) + sums.tails[slot(chunk)];
#pragma unroll 8
    for (uint32_t c = chunk + 1; c < end_chunk; ++c) sum += sums.heads[slot(c)];
    sums.at(key) = static_cast<typename Sums::Value>(sum);
  }
}
#endif

}  // namespace dt::cuda
