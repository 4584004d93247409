// Sums of single elements through indices that repeat, of many: half a sort does.
//
// Keys are destinations (see sorted_writes.cuh), values travel with them, and both are sorted,
// stably, by the keys' upper bits alone: what follows each other then belongs to one span of
// destinations, in the order of positions. A warp has the sums of a span in shared memory and adds
// the values of a chunk to them in that order, so the result is always the same. A span that goes
// on in another chunk leaves its sums to a second kernel, which adds up those of all its chunks:
//
//   chunks   |    0    |    1    |    2    |
//   spans    |aaabbbbbb|bbbbbbbbb|bccccdddd|
//   sums go  |y  tail 0|head 1   |head 2, then y of c and of d
//
// and the block of chunk 0 adds tail 0, head 1 and head 2 to y of b.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

#include "kernels/cuda/scratch.h"
#include "kernels/cuda/split_plan.cuh"

namespace dt::cuda {

constexpr int kTermThreads = 256, kTerms = 4;
constexpr int kSpanThreads = 128, kSpanWarps = kSpanThreads / kWarp;

struct SpanShape {
  uint32_t count, nowhere;  // of positions; the key of a bad index
  int low_bits, key_bits;   // that are not sorted by; of a key
  uint32_t chunk, chunks;   // positions of a warp

  // Few spans would leave many warps idle; the sums of large ones would not fit.
  explicit SpanShape(const SplitPlan& split) : key_bits(split.key_bits()) {
    constexpr int kSpanBits = 12, kMostLowBits = 11;
    constexpr int64_t kWarps = 4096, kShortest = 256, kLongest = 8192;
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

template <class T, class Op>
struct SpanSums {
  using Value = T;
  T* y;
  Values<T> values;
  SpanShape shape;
  int64_t unit, lowest;
  Op op;
  uint32_t* keys;
  float* terms;  // the values, weighted
  // [chunks][span]: sums of a span that began in an earlier chunk, and of one that begins in this
  // and goes on in the next.
  float *heads, *tails;

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
  const uint32_t first = blockIdx.x * (kTermThreads * kTerms) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kTerms; ++i) {
    const uint32_t position = first + static_cast<uint32_t>(i) * kTermThreads;
    if (position >= sums.shape.count) return;
    int64_t plain, offset;
    const bool is_right =
        maker.positions.at<kSelectors>(position, maker.complaint, &plain, &offset);
    const T value = sums.values.template load<1>(plain).value[0];
    sums.keys[position] =
        is_right ? static_cast<uint32_t>(offset - maker.lowest) : sums.shape.nowhere;
    sums.terms[position] = static_cast<float>(sums.op.weigh(value));
  }
}

// Adds a term of each lane to the table. The first lane of a place adds those of the others in
// their order and writes the sum; what the others have read and added is dropped.
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

// The span whose sums a warp has in its table, and where they go.
template <class Sums>
struct OpenSpan {
  const Sums& sums;
  float* table;
  uint32_t chunk;
  uint32_t first = 0;     // key
  float* part = nullptr;  // where the sums of a span go that other chunks share; null: to y

  // `position`: the first of the span in the chunk.
  __device__ __forceinline__ void open(uint32_t position) {
    const uint32_t span = sums.span_of(position), last = sums.end_of(chunk) - 1;
    first = span << sums.shape.low_bits;
    part = nullptr;
    const int64_t slot = static_cast<int64_t>(chunk) << sums.shape.low_bits;
    if (sums.began_before(position))
      part = sums.heads + slot;
    else if (sums.span_of(last) == span && sums.goes_on(last))
      part = sums.tails + slot;
    // What gets no term stays as it is, since -0 is what may be added to everything.
    for (uint32_t i = threadIdx.x % kWarp; i < sums.shape.span(); i += kWarp) {
      const bool is_there = part == nullptr && first + i < sums.shape.nowhere;
      table[i] = is_there ? static_cast<float>(sums.at(first + i)) : -0.0f;
    }
    __syncwarp();
  }
  __device__ __forceinline__ void close() const {
    __syncwarp();
    for (uint32_t i = threadIdx.x % kWarp; i < sums.shape.span(); i += kWarp) {
      if (part != nullptr)
        part[i] = table[i];
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
  const uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const uint32_t chunk = blockIdx.x * kSpanWarps + warp;
  if (chunk >= sums.shape.chunks) return;
  const uint32_t begin = chunk * sums.shape.chunk, end = sums.end_of(chunk);
  OpenSpan<Sums> span = {sums, tables + (warp << sums.shape.low_bits), chunk};
  span.open(begin);
  uint32_t key = sums.keys[min(begin + lane, end - 1)];
  float term = sums.terms[min(begin + lane, end - 1)];
  for (uint32_t step = begin; step < end; step += kWarp) {
    const uint32_t next = min(step + kWarp + lane, end - 1);  // on its way meanwhile
    const uint32_t next_key = sums.keys[next];
    const float next_term = sums.terms[next];
    unsigned left = __ballot_sync(0xffffffffu, step + lane < end);
    while (true) {
      const bool is_in = (left >> lane & 1) != 0 && key - span.first < sums.shape.span();
      add_terms(span.table, key - span.first, term, is_in && key != sums.shape.nowhere);
      left &= ~__ballot_sync(0xffffffffu, is_in);
      if (left == 0) break;
      span.close();
      span.open(step + static_cast<uint32_t>(__ffs(left) - 1));
    }
    __syncwarp();
    key = next_key, term = next_term;
  }
  span.close();
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
    const auto slot = [&](uint32_t c) {
      return (static_cast<int64_t>(c) << sums.shape.low_bits) + i;
    };
    float sum = static_cast<float>(sums.at(key)) + sums.tails[slot(chunk)];
#pragma unroll 8
    for (uint32_t c = chunk + 1; c < end_chunk; ++c) sum += sums.heads[slot(c)];
    sums.at(key) = static_cast<typename Sums::Value>(sum);
  }
}

// ---- on the host

// What the sort wants, and the sums that chunks leave.
struct SpanBuffers {
  cub::DoubleBuffer<uint32_t> keys;
  cub::DoubleBuffer<float> terms;
  float *heads, *tails;
  char* scratch = nullptr;
  size_t scratch_bytes = 0;

  SpanBuffers(Scratch* memory, const SpanShape& shape) {
    for (int i = 0; i < 2; ++i) {
      keys.d_buffers[i] = memory->take<uint32_t>(shape.count);
      terms.d_buffers[i] = memory->take<float>(shape.count);
    }
    heads = memory->take<float>(int64_t{shape.chunks} << shape.low_bits);
    tails = memory->take<float>(int64_t{shape.chunks} << shape.low_bits);
    cub::DeviceRadixSort::SortPairs(nullptr, scratch_bytes, keys, terms, shape.count,
                                    shape.low_bits, shape.key_bits);
    scratch = memory->take<char>(static_cast<int64_t>(scratch_bytes));
  }
};

inline bool can_sum_spans(const SplitPlan& split, int64_t element_bytes) {
  return element_bytes <= 4 && split.is_small() && split.slice.count == 1 &&
         split.positions.selectors <= 2 && has_no_gaps(split) && SpanShape(split).is_worth_it();
}

template <class T, class Op>
int32_t add_in_spans(const dt_stream* stream, const calls::Call& call, const SplitPlan& split, T* y,
                     const Values<T>& values, const Op& op) {
  const SpanShape shape(split);
  // CUB asks about the current device.
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  Scratch memory(call.workspace);
  SpanBuffers buffers(&memory, shape);
  SpanSums<T, Op> sums = {y,
                          values,
                          shape,
                          split.unit,
                          split.lowest * split.unit,
                          op,
                          buffers.keys.Current(),
                          buffers.terms.Current(),
                          buffers.heads,
                          buffers.tails};
  const KeyMaker maker(split, Complaint(stream, call));
  const auto term_blocks = static_cast<unsigned>(divide_up(shape.count, kTermThreads * kTerms));
  int32_t code = launch(stream, make_terms<2, T, Op>, term_blocks, kTermThreads, 0, sums, maker);
  if (code != DT_KERNEL_OK) return code;
  const cudaError_t error = cub::DeviceRadixSort::SortPairs(
      buffers.scratch, buffers.scratch_bytes, buffers.keys, buffers.terms, shape.count,
      shape.low_bits, shape.key_bits, native_stream(stream));
  if (error != cudaSuccess) return check(error, "cub::DeviceRadixSort", stream->fault);
  sums.keys = buffers.keys.Current(), sums.terms = buffers.terms.Current();
  code = launch(stream, sum_chunks<SpanSums<T, Op>>,
                static_cast<unsigned>(divide_up(shape.chunks, kSpanWarps)), kSpanThreads,
                kSpanWarps * sizeof(float) << shape.low_bits, sums);
  if (code != DT_KERNEL_OK) return code;
  return launch(stream, join_chunks_of_spans<SpanSums<T, Op>>, shape.chunks, kSpanThreads, 0, sums);
}

}  // namespace dt::cuda
