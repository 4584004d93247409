// Writing slices to destinations that repeat, in a fixed order.
//
// Each position has a key, which says where its slice goes; positions have been sorted by key, and
// stably, so that equal keys follow each other in logical order. A sum over a run of equal keys may
// be long or short, so runs are cut where blocks and rows of threads end: what is left of a run
// that crosses a border of rows is joined within the block, and what crosses a border of blocks
// goes to scratch memory (`heads`: the end of a run that began earlier; `tails`: the beginning of a
// run that goes on) for a second kernel. Where the cuts are depends on positions alone, so the
// result is always the same.
//
// Positions with a bad index have a key of their own, `nowhere`: what belongs to it is added up
// like the rest, but never written.
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
  Word count, nowhere;
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
  using Wide = Widened<T>;
  T alpha;
  __device__ __forceinline__ T weigh(T value) const {
    return static_cast<T>(static_cast<Wide>(alpha) * static_cast<Wide>(value));
  }
  static __device__ __forceinline__ T add(T a, T b) {
    return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  }
};

// bool's addition.
struct Union {
  uint8_t alpha;  // 0 or 1
  __device__ __forceinline__ uint8_t weigh(uint8_t value) const { return alpha & value; }
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
    const Word which = static_cast<Word>(i / slice.count), key = sorted.keys[which];
    if (sorted.goes_on(which) || key == sorted.nowhere) continue;
    int64_t from, to;
    slice.at(i - static_cast<int64_t>(which) * slice.count, &from, &to);
    from += positions.plain_at(sorted.order[which]);
    y[to + sorted.offset(key)] = values.template load<1>(from).value[0];
  }
}

// ---- sums. Slices are counted in packets of kWidth elements.

template <class Op, class T, int kWidth>
__device__ __forceinline__ void add_part(const Op&, Packet<T, kWidth>* sum,
                                         const Packet<T, kWidth>& part) {
#pragma unroll
  for (int v = 0; v < kWidth; ++v) sum->value[v] = Op::add(sum->value[v], part.value[v]);
}

template <class Op, class T, int kWidth>
__device__ __forceinline__ Packet<T, kWidth> weighted_part(const Op& op, Packet<T, kWidth> part) {
#pragma unroll
  for (int v = 0; v < kWidth; ++v) part.value[v] = op.weigh(part.value[v]);
  return part;
}

// Adds a sum to what y has at a place; where y is fresh, that is nothing.
template <class Op, class T, int kWidth>
__device__ __forceinline__ void add_to_slice(const Op& op, T* at, const Packet<T, kWidth>& sum,
                                             bool fresh) {
  Packet<T, kWidth> total = {};
  if (!fresh) total = load_packet<kWidth>(at);
  add_part(op, &total, sum);
  store_packet(at, total);
}

template <class T, int kWidth, class Op, class Word>
struct Addition {
  using Part = Packet<T, kWidth>;
  using Key = Word;
  static constexpr int width = kWidth;

  T* y;
  Values<T> values;
  SortedPositions<Word> sorted;
  IndexPlan positions;
  Slice slice;              // in elements
  int64_t parts;            // packets of a slice
  int lanes;                // threads of a row, side by side along a slice
  unsigned chunks, groups;  // of positions; of packets, `lanes` each
  Op op;
  int64_t fresh;         // slices of y if it was not written before, one after another; else 0
  uint64_t clear_share;  // of add_chunks' blocks, in units of 2^-32: how many clear
  Part *heads, *tails;   // [chunks][parts]

  __device__ __forceinline__ int rows() const { return kWriteThreads / lanes; }
  __device__ __forceinline__ Word block_positions() const {
    return static_cast<Word>(rows()) * kRowPositions;
  }
  // The first part of a row of threads; the next is part_step() further.
  __device__ __forceinline__ int64_t first_part(unsigned group) const {
    return static_cast<int64_t>(group) * lanes + lane();
  }
  __device__ __forceinline__ int64_t part_step() const {
    return static_cast<int64_t>(groups) * lanes;
  }
  // How many of the blocks before `block` clear: they are spread evenly.
  __device__ __forceinline__ int64_t clearing_before(unsigned block) const {
    return static_cast<int64_t>(block * clear_share >> 32);
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
    add_part(op, sum, part);
  }
  // Adds the sum of a key's run to its slice, `to` elements behind where that begins. Every run
  // comes here once.
  __device__ __forceinline__ void add_to_y(Word key, int64_t to, const Part& sum) const {
    if (key != sorted.nowhere) add_to_slice(op, y + (sorted.offset(key) + to), sum, fresh > 0);
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
      a.add(&sum, weighted_part(a.op, part[j]));
      const bool goes_on = i + 1 < a.sorted.count && key[j + 1] == key[j];
      if (goes_on && i + 1 < end) continue;
      if (is_head) {
        *head = sum;
      } else if (goes_on) {
        *tail = sum;
      } else {
        a.add_to_y(key[j], to, sum);
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
template <class A>
__device__ __forceinline__ void join_rows(const A& a, const RowRests<typename A::Part>& rests,
                                          unsigned chunk, int64_t part, int64_t to) {
  using Word = typename A::Key;
  const Word block_begin = static_cast<Word>(chunk) * a.block_positions();
  const Word begin = block_begin + static_cast<Word>(a.row()) * kRowPositions;
  const Word end = a.clamp(begin + kRowPositions);
  if (begin >= end) return;
  const int64_t scratch = static_cast<int64_t>(chunk) * a.parts + part;
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
    a.add_to_y(a.sorted.keys[begin + kRowPositions - 1], to, total);
  } else {
    a.tails[scratch] = total;
  }
}

// Makes the slices of a block zero that no position has a share in.
constexpr int kClearSlices = 64;  // of a block

template <class A>
__device__ __forceinline__ void clear_rest(const A& a, int64_t block) {
  using Key = typename A::Key;
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

// A block adds up the positions of a chunk, or clears what gets no sum. Blocks of a chunk are
// neighbours: they read the same slices at about the same time.
template <class T, int kWidth, class Op, class Word>
__global__ void __launch_bounds__(kWriteThreads) add_chunks(Addition<T, kWidth, Op, Word> a) {
  begin_kernel();
  __shared__ RowRests<Packet<T, kWidth>> rests;
  const int64_t clearing = a.clearing_before(blockIdx.x);
  if (a.clearing_before(blockIdx.x + 1) != clearing) {
    clear_rest(a, clearing);
    return;
  }
  const unsigned block = blockIdx.x - static_cast<unsigned>(clearing), chunk = block / a.groups;
  const Word row = static_cast<Word>(chunk) * static_cast<Word>(a.rows()) + a.row();
  const Word begin = a.clamp(row * kRowPositions), end = a.clamp(begin + kRowPositions);
  for (int64_t part = a.first_part(block % a.groups); part - a.lane() < a.parts;
       part += a.part_step()) {
    const bool exists = part < a.parts;
    int64_t from = 0, to = 0;
    if (exists) {
      a.slice.at(part * kWidth, &from, &to);
      add_row(a, from, to, begin, end, &rests.heads[threadIdx.x], &rests.tails[threadIdx.x]);
    }
    __syncthreads();
    if (exists) join_rows(a, rests, chunk, part, to);
    __syncthreads();
  }
}

// ---- sums: runs that go on from a chunk to the next

// The run at the end of a chunk.
template <class Word>
struct CutRun {
  Word key;
  unsigned chunk;
  bool exists;   // it begins in the chunk and goes on in the next
  bool is_long;  // and goes on in the one after that

  template <class A>
  __device__ __forceinline__ CutRun(const A& a, unsigned of_chunk) : chunk(of_chunk) {
    const Word span = a.block_positions(), begin = static_cast<Word>(chunk) * span;
    key = 0, exists = is_long = false;
    if (chunk + 1 >= a.chunks) return;
    const Word next = begin + span;
    key = a.sorted.keys[next - 1];
    const bool began_before = a.sorted.began_before(begin) && a.sorted.keys[begin] == key;
    exists = a.sorted.keys[next] == key && !began_before;
    is_long = exists && chunk + 2 < a.chunks && a.sorted.keys[next + span] == key;
  }
};

template <class A, class Word>
__device__ __forceinline__ void add_cut_run(const A& a, const CutRun<Word>& run, int64_t part,
                                            const typename A::Part& heads) {
  typename A::Part total = a.tails[static_cast<int64_t>(run.chunk) * a.parts + part];
  a.add(&total, heads);
  int64_t from, to;
  a.slice.at(part * A::width, &from, &to);
  a.add_to_y(run.key, to, total);
}

// In how many chunks behind its first a run goes on. All threads of the block ask and get to know.
template <class A, class Word>
__device__ __forceinline__ Word count_heads(const A& a, const CutRun<Word>& run) {
  const Word first = static_cast<Word>(run.chunk) + 1, span = a.block_positions();
  Word heads = 0;
  for (int more = kWriteThreads; more == kWriteThreads; heads += more) {
    const Word chunk = first + heads + threadIdx.x;
    more = __syncthreads_count(chunk < a.chunks && a.sorted.keys[chunk * span] == run.key);
  }
  return heads;
}

// Finishes a long run: all rows of the block add heads, and the first adds up what they got.
template <class A, class Word>
__device__ __forceinline__ void join_long_run(const A& a, const CutRun<Word>& run, unsigned group,
                                              typename A::Part* sums) {
  const Word heads = count_heads(a, run);
  for (int64_t part = a.first_part(group); part - a.lane() < a.parts; part += a.part_step()) {
    const bool exists = part < a.parts;
    const auto* const head = a.heads + static_cast<int64_t>(run.chunk + 1) * a.parts + part;
    typename A::Part sum = {};
#pragma unroll 8
    for (Word i = a.row(); exists && i < heads; i += a.rows())
      a.add(&sum, head[static_cast<int64_t>(i) * a.parts]);
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (exists && a.row() == 0) {
      for (int r = 1; r < a.rows(); ++r) a.add(&sum, sums[r * a.lanes + a.lane()]);
      add_cut_run(a, run, part, sum);
    }
    __syncthreads();
  }
}

// Finishes the runs that go on from a chunk to the next. A block has a chunk for each row: rows
// finish short runs by themselves, and long ones together. Without the 2, which lets threads have
// more registers, some would be spilled.
template <class T, int kWidth, class Op, class Word>
__global__ void __launch_bounds__(kWriteThreads, 2) join_chunks(Addition<T, kWidth, Op, Word> a) {
  begin_kernel();
  __shared__ Packet<T, kWidth> sums[kWriteThreads];
  __shared__ bool is_long[kWriteThreads];
  const unsigned group = blockIdx.x % a.groups, first = blockIdx.x / a.groups * a.rows();
  const CutRun<Word> run(a, first + a.row());
  if (run.exists && !run.is_long) {
    for (int64_t part = a.first_part(group); part < a.parts; part += a.part_step())
      add_cut_run(a, run, part, a.heads[static_cast<int64_t>(run.chunk + 1) * a.parts + part]);
  }
  is_long[a.row()] = run.is_long;
  if (__syncthreads_count(run.is_long) == 0) return;
  for (int row = 0; row < a.rows(); ++row) {
    if (is_long[row]) join_long_run(a, CutRun<Word>(a, first + row), group, sums);
  }
}

#endif

}  // namespace dt::cuda
