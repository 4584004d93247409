// Writing slices to destinations that repeat, in a fixed order.
//
// Each position has a key, which says where its slice goes; positions have been sorted by key, and
// stably, so that equal keys follow each other in logical order. A sum over a run of equal keys may
// be long or short, so runs are cut where blocks and rows of threads end: what is left of a run
// that crosses a border of rows is joined within the block, and what crosses a border of blocks
// goes to scratch memory (`heads`: the end of a run that began earlier; `tails`: the beginning of a
// run that goes on) for a second kernel. Where the cuts are depends on positions alone, so the
// result is always the same.
#pragma once

#include "kernels/cuda/index_plan.cuh"

namespace dt::cuda {

constexpr int kWriteThreads = 256;
constexpr int kRowPositions = 16;  // that a row of threads adds up

// The dimensions of a slice, which no selector chooses.
struct Slice {
  int ndim = 0;
  int64_t count = 1;
  int64_t sizes[DT_MAX_DIMS], plain[DT_MAX_DIMS], indexed[DT_MAX_DIMS];

#ifdef __CUDACC__
  __device__ __forceinline__ void at(int64_t element, int64_t* to_plain,
                                     int64_t* to_indexed) const {
    int64_t plain_offset = 0, indexed_offset = 0;
    for (int d = ndim - 1; d >= 0; --d) {
      const int64_t outer = d > 0 ? element / sizes[d] : 0, here = element - outer * sizes[d];
      plain_offset += here * plain[d];
      indexed_offset += here * indexed[d];
      element = outer;
    }
    *to_plain = plain_offset;
    *to_indexed = indexed_offset;
  }
#endif
};

// Positions sorted by key. A key is the offset of its slice in the indexed operand, counted from
// `lowest` in steps of `unit`: the fewer bits, the quicker the sort.
template <class Word>
struct SortedPositions {
  const Word *keys, *order;  // order: logical positions
  Word count;
  int64_t unit, lowest;

#ifdef __CUDACC__
  __device__ __forceinline__ int64_t offset(Word key) const {
    return static_cast<int64_t>(key) * unit + lowest;
  }
  // Whether the run of position i goes on behind it.
  __device__ __forceinline__ bool goes_on(Word i) const {
    return i + 1 < count && keys[i + 1] == keys[i];
  }
  // Whether the run of position i began before it.
  __device__ __forceinline__ bool began_before(Word i) const {
    return i > 0 && keys[i - 1] == keys[i];
  }
  // The first position in [low, high) whose key is not below `key`, or `high`.
  __device__ Word lower_bound(Word key, Word low, Word high) const {
    while (low < high) {
      const Word middle = low + (high - low) / 2;
      if (keys[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  // The end of the run of position i. Most runs are short: the steps of the search begin so.
  __device__ Word end_of_run(Word i) const {
    const Word key = keys[i];
    Word step = 1;
    for (; step < count - i && keys[i + step] == key; step *= 2) i += step;
    return lower_bound(key + 1, i + 1, step < count - i ? i + step : count);
  }
  __device__ __forceinline__ bool contains(Word key) const {
    const Word i = lower_bound(key, 0, count);
    return i < count && keys[i] == key;
  }
#endif
};

#ifdef __CUDACC__

// An addition, and how a value is weighted before it. Unsigned integers wrap around.
template <class T>
struct Sum {
  T alpha;
  __device__ __forceinline__ T weigh(T value) const { return static_cast<T>(alpha * value); }
  static __device__ __forceinline__ T add(T a, T b) { return static_cast<T>(a + b); }
};

// bool's addition.
struct Union {
  __device__ __forceinline__ uint8_t weigh(uint8_t value) const { return value; }
  static __device__ __forceinline__ uint8_t add(uint8_t a, uint8_t b) { return a | b; }
};

// What is read at positions: a tensor, or one number for all.
template <class T>
struct Values {
  const T* data;  // null: the number
  T number;

  template <int kWidth>
  __device__ __forceinline__ Packet<T, kWidth> load(int64_t offset) const {
    if (data) return load_packet<kWidth>(data + offset);
    Packet<T, kWidth> result;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) result.value[v] = number;
    return result;
  }
};

// The last position of every run writes its slice.
template <class T, class Word>
__global__ void __launch_bounds__(kWriteThreads)
    write_last(T* y, Values<T> values, SortedPositions<Word> sorted, IndexPlan positions,
               Slice slice) {
  begin_kernel();
  const int64_t all = static_cast<int64_t>(sorted.count) * slice.count;
  const int64_t step = int64_t{gridDim.x} * kWriteThreads;
  for (int64_t i = int64_t{blockIdx.x} * kWriteThreads + threadIdx.x; i < all; i += step) {
    const Word which = static_cast<Word>(i / slice.count);
    if (sorted.goes_on(which)) continue;
    int64_t from, to;
    slice.at(i - static_cast<int64_t>(which) * slice.count, &from, &to);
    from += positions.plain_at(sorted.order[which]);
    y[to + sorted.offset(sorted.keys[which])] = values.template load<1>(from).value[0];
  }
}

// ---- sums. Slices are counted in packets of kWidth elements.

template <class T, int kWidth, class Op, class Word>
struct Addition {
  using Part = Packet<T, kWidth>;
  static constexpr int width = kWidth;

  T* y;
  Values<T> values;
  SortedPositions<Word> sorted;
  IndexPlan positions;
  Slice slice;              // in elements
  int64_t parts;            // packets of a slice
  int lanes;                // threads of a row, side by side along a slice
  unsigned chunks, groups;  // of positions; of packets, `lanes` each: a block for every two
  Op op;
  int64_t fresh;        // slices of y if it was not written before, one after another; else 0
  Part *heads, *tails;  // [chunks][parts]

  __device__ __forceinline__ int rows() const { return kWriteThreads / lanes; }
  __device__ __forceinline__ Word block_positions() const {
    return static_cast<Word>(rows()) * kRowPositions;
  }
  // Blocks of a chunk are neighbours: they read the same slices at about the same time.
  __device__ __forceinline__ unsigned chunk() const { return blockIdx.x / groups; }
  __device__ __forceinline__ int64_t first_part() const {
    return static_cast<int64_t>(blockIdx.x % groups) * lanes;
  }
  __device__ __forceinline__ int64_t part_step() const {
    return static_cast<int64_t>(groups) * lanes;
  }
  __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x) % lanes; }
  __device__ __forceinline__ int row() const { return static_cast<int>(threadIdx.x) / lanes; }
  __device__ __forceinline__ Word clamp(Word i) const {
    return i < sorted.count ? i : sorted.count;
  }
  __device__ __forceinline__ Word clamp_last(Word i) const {
    return i < sorted.count ? i : sorted.count - 1;
  }

  __device__ __forceinline__ void add(Part* sum, const Part& part) const {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sum->value[v] = Op::add(sum->value[v], part.value[v]);
  }
  __device__ __forceinline__ Part weighted(Part part) const {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) part.value[v] = op.weigh(part.value[v]);
    return part;
  }
  // Every run comes here once.
  __device__ __forceinline__ void add_to_y(int64_t offset, const Part& sum) const {
    Part total = fresh > 0 ? Part{} : load_packet<kWidth>(y + offset);
    add(&total, sum);
    store_packet(y + offset, total);
  }
};

// What a row of threads leaves to its block.
template <class Part>
struct RowRests {
  Part heads[kWriteThreads], tails[kWriteThreads];
};

// Adds up the positions of a row. Runs that lie in it go to y; the sums of the others are left.
template <class A, class Word>
__device__ __forceinline__ void add_row(const A& a, int64_t from, int64_t to, Word begin, Word end,
                                        typename A::Part* head, typename A::Part* tail) {
  constexpr int kAtOnce = sizeof(Word) == 8 ? 2 : 8;  // long words take twice the registers
  typename A::Part sum = {};
  bool is_head = begin < end && a.sorted.began_before(begin);
  for (Word first = begin; first < end; first += kAtOnce) {
    typename A::Part part[kAtOnce];
    Word key[kAtOnce + 1], position[kAtOnce];
#pragma unroll
    for (int j = 0; j <= kAtOnce; ++j) key[j] = a.sorted.keys[a.clamp_last(first + j)];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) position[j] = a.sorted.order[a.clamp_last(first + j)];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      if (first + j < end)
        part[j] = a.values.template load<A::width>(a.positions.plain_at(position[j]) + from);
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const Word i = first + j;
      if (i >= end) break;
      a.add(&sum, a.weighted(part[j]));
      const bool goes_on = i + 1 < a.sorted.count && key[j + 1] == key[j];
      if (goes_on && i + 1 < end) continue;
      if (is_head) {
        *head = sum;
      } else if (goes_on) {
        *tail = sum;
      } else {
        a.add_to_y(a.sorted.offset(key[j]) + to, sum);
      }
      is_head = false;
      sum = {};
    }
  }
}

// Adds the heads of the rows behind `row` that belong to the run which `row` leaves open. Returns
// whether the run ends in this block.
template <class A, class Word>
__device__ __forceinline__ bool follow_run(const A& a, const RowRests<typename A::Part>& rests,
                                           int row, Word block_begin, typename A::Part* total) {
  for (int r = row + 1; r < a.rows(); ++r) {
    a.add(total, rests.heads[r * a.lanes + a.lane()]);
    const Word begin = block_begin + static_cast<Word>(r) * kRowPositions;
    const Word last = a.clamp(begin + kRowPositions) - 1;
    if (a.sorted.keys[last] != a.sorted.keys[begin] || !a.sorted.goes_on(last)) return true;
  }
  return false;
}

// Joins what the rows of a block left.
template <class A, class Word>
__device__ __forceinline__ void join_rows(const A& a, const RowRests<typename A::Part>& rests,
                                          int64_t part, int64_t to, Word block_begin) {
  const Word begin = block_begin + static_cast<Word>(a.row()) * kRowPositions;
  const Word end = a.clamp(begin + kRowPositions);
  if (begin >= end) return;
  const int64_t scratch = static_cast<int64_t>(a.chunk()) * a.parts + part;
  const bool goes_on = a.sorted.goes_on(end - 1), is_head = a.sorted.began_before(begin);
  const bool is_one_run = a.sorted.keys[begin] == a.sorted.keys[end - 1];
  if (a.row() == 0 && is_head) {
    typename A::Part total = rests.heads[a.lane()];
    if (is_one_run && goes_on) follow_run(a, rests, 0, block_begin, &total);
    a.heads[scratch] = total;
  }
  if (!goes_on || (is_head && is_one_run)) return;
  typename A::Part total = rests.tails[threadIdx.x];
  if (follow_run(a, rests, a.row(), block_begin, &total)) {
    a.add_to_y(a.sorted.offset(a.sorted.keys[begin + kRowPositions - 1]) + to, total);
  } else {
    a.tails[scratch] = total;
  }
}

// Makes the slices of a block zero that no position has a share in.
constexpr int kClearSlices = 64;  // of a block

template <class A>
__device__ __forceinline__ void clear_rest(const A& a, int64_t block) {
  using Key = decltype(a.sorted.count);
  __shared__ bool is_written[kClearSlices];
  const int64_t begin = block * kClearSlices;
  const int slices = static_cast<int>(min(int64_t{kClearSlices}, a.fresh - begin));
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  if (thread < slices) is_written[thread] = a.sorted.contains(static_cast<Key>(begin + thread));
  __syncthreads();
  for (int slice = thread / kWarp; slice < slices; slice += kWriteThreads / kWarp) {
    if (is_written[slice]) continue;
    auto* const to = a.y + (begin + slice) * a.parts * A::width;
    for (int64_t part = lane; part < a.parts; part += kWarp)
      store_packet(to + part * A::width, typename A::Part{});
  }
}

// A block adds up the positions of a chunk. Blocks behind the last chunk clear what gets no sum.
template <class T, int kWidth, class Op, class Word>
__global__ void __launch_bounds__(kWriteThreads) add_chunks(Addition<T, kWidth, Op, Word> a) {
  begin_kernel();
  __shared__ RowRests<Packet<T, kWidth>> rests;
  if (a.chunk() >= a.chunks) {
    clear_rest(a, blockIdx.x - static_cast<int64_t>(a.chunks) * a.groups);
    return;
  }
  const Word block_begin = static_cast<Word>(a.chunk()) * a.block_positions();
  const Word begin = a.clamp(block_begin + static_cast<Word>(a.row()) * kRowPositions);
  const Word end = a.clamp(begin + kRowPositions);
  for (int64_t first = a.first_part(); first < a.parts; first += a.part_step()) {
    const int64_t part = first + a.lane();
    const bool exists = part < a.parts;
    int64_t from = 0, to = 0;
    if (exists) {
      a.slice.at(part * kWidth, &from, &to);
      add_row(a, from, to, begin, end, &rests.heads[threadIdx.x], &rests.tails[threadIdx.x]);
    }
    __syncthreads();
    if (exists) join_rows(a, rests, part, to, block_begin);
    __syncthreads();
  }
}

// Finishes the runs that begin in the block's chunk and go on in the next: all rows of the block
// add heads, and the first adds up what they got.
template <class T, int kWidth, class Op, class Word>
__global__ void __launch_bounds__(kWriteThreads) join_chunks(Addition<T, kWidth, Op, Word> a) {
  begin_kernel();
  __shared__ Packet<T, kWidth> sums[kWriteThreads];
  const Word span = a.block_positions(), begin = static_cast<Word>(a.chunk()) * span;
  const Word last = a.clamp(begin + span) - 1;
  const bool is_one_run = a.sorted.keys[begin] == a.sorted.keys[last];
  if (!a.sorted.goes_on(last) || (is_one_run && a.sorted.began_before(begin))) return;
  const Word final_chunk = (a.sorted.end_of_run(last) - 1) / span;
  for (int64_t first = a.first_part(); first < a.parts; first += a.part_step()) {
    const int64_t part = first + a.lane();
    const bool exists = part < a.parts;
    Packet<T, kWidth> sum = {};
#pragma unroll 4
    for (Word c = static_cast<Word>(a.chunk()) + 1 + a.row(); exists && c <= final_chunk;
         c += a.rows())
      a.add(&sum, a.heads[static_cast<int64_t>(c) * a.parts + part]);
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (exists && a.row() == 0) {
      Packet<T, kWidth> total = a.tails[static_cast<int64_t>(a.chunk()) * a.parts + part];
      for (int r = 0; r < a.rows(); ++r) a.add(&total, sums[r * a.lanes + a.lane()]);
      int64_t from, to;
      a.slice.at(part * kWidth, &from, &to);
      a.add_to_y(a.sorted.offset(a.sorted.keys[last]) + to, total);
    }
    __syncthreads();
  }
}

#endif

}  // namespace dt::cuda
