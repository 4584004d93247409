// Selection by digits: how often each value of the highest digit occurs in a row says which one the
// wanted element has; of those that have it, the next digit is counted, and so on. Then its key is
// known, and how many of equal keys come before it. Rows are not sorted: each is read once for each
// digit and twice to find what is wanted in it, all but the first time from shared memory where it
// fits in there. Counts are integers: the order in which they grow does not matter.
//
// A row belongs to a block, or, where rows are few and long, to several, which add up their counts.
#include "kernels/cuda/row_select.cuh"

#include "kernels/cuda/shared.cuh"
#include "kernels/cuda/shuffle.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/together.cuh"

namespace dt::cuda {
namespace {

constexpr int kMostThreads = 1024, kMostWarps = kMostThreads / kWarp;

// ---- digits

constexpr int kMostDigitBits = 11, kMostValues = 1 << kMostDigitBits;

// How keys are cut into digits. For few elements it takes long to look through many counts.
struct Digits {
  int count, bits;

  Digits(int64_t elements, int key_bits) {
    constexpr int64_t kFewElements = 4096;
    constexpr int kFewBits = 8;
    const int most = elements <= kFewElements ? kFewBits : kMostDigitBits;
    count = (key_bits + most - 1) / most;
    bits = (key_bits + count - 1) / count;
  }
  __device__ __forceinline__ int values() const { return 1 << bits; }
};

// How often each value of a digit occurs; and how many elements are NaN.
struct Counts {
  uint32_t of_value[kMostValues], nan;
};

// ---- what is selected

struct Select {
  RowSort sort;
  Digits digits;
  void* elements;       // of those that come first, [rows][first]; null where a statistic is wanted
  uint32_t* positions;  // and where they were
  int64_t blocks;       // that a row belongs to
  Counts* all;          // [rows][digits] of several blocks, zero at first, or null
  uint2* taken;         // [rows][blocks] elements that are less, and equal, or null
};

// The part of a row that a block looks at. If it keeps them, keys that were looked at are in shared
// memory from then on.
template <class T, bool kKeeps>
class Part {
 public:
  // Counts elements: what is kept is little.
  using Int = std::conditional_t<kKeeps, int32_t, int64_t>;

  int64_t begin;
  Int count;

  __device__ __forceinline__ Part(const Select& select, int64_t row, int64_t block)
      : stride_(select.sort.rows.x_stride), descending_(select.sort.descending) {
    int64_t offset[3];
    select.sort.rows.kept.at(static_cast<uint64_t>(row), offset);
    const int64_t n = select.sort.rows.n, share = (n + select.blocks - 1) / select.blocks;
    begin = min(n, block * share);
    count = static_cast<Int>(min(n, begin + share) - begin);
    x_ = static_cast<const T*>(select.sort.x) + offset[0] + begin * stride_;
  }

  __device__ __forceinline__ T element(Int i) const { return x_[i * stride_]; }

  // Calls use(i, key) for each i from `first` to `end`, by steps. Several keys, which wait for
  // memory, are on their way at once.
  template <class Use>
  __device__ __forceinline__ void each_first(Int first, Int end, int step, const Use& use) const {
    each(
        first, end, step, [&](const T* x, Int) { return key_of_element(*x); },
        [&](Int i, KeyOf<T> key) {
          if constexpr (kKeeps) kept()[i] = static_cast<Word>(key);
          use(i, key);
        });
  }
  // The same of elements that were looked at before.
  template <class Use>
  __device__ __forceinline__ void each_again(Int first, Int end, int step, const Use& use) const {
    each(
        first, end, step,
        [&](const T* x, Int i) -> KeyOf<T> {
          if constexpr (kKeeps) return kept()[i];
          return key_of_element(*x);
        },
        use);
  }

 private:
  using Word = Bits<sizeof(T)>;

  const T* x_;
  int64_t stride_;
  bool descending_;

  static __device__ __forceinline__ Word* kept() {
    extern __shared__ __align__(16) unsigned char memory[];
    return reinterpret_cast<Word*>(memory);
  }
  __device__ __forceinline__ KeyOf<T> key_of_element(T x) const {
    const KeyOf<T> key = key_of(x);
    return descending_ ? ~key & kLargestKey<T> : key;
  }

  template <class Load, class Use>
  __device__ __forceinline__ void each(Int first, Int end, int step, const Load& load,
                                       const Use& use) const {
    constexpr int kTogether = 8;
    const int64_t x_step = step * stride_;
    const T* x = x_ + first * stride_;
    Int i = first;
    for (; i + (kTogether - 1) * step < end; i += kTogether * step, x += kTogether * x_step) {
      KeyOf<T> key[kTogether];
#pragma unroll
      for (int j = 0; j < kTogether; ++j) key[j] = load(x + j * x_step, i + j * step);
#pragma unroll
      for (int j = 0; j < kTogether; ++j) use(i + j * step, key[j]);
    }
    for (; i < end; i += step, x += x_step) use(i, load(x, i));
  }
};

// ---- the key

// What is known of the wanted element: the highest digits of its key, its place among those that
// have them, and how many have.
template <class T>
struct Wanted {
  KeyOf<T> key;
  uint32_t place, equal;
};

__device__ __forceinline__ uint32_t lanes_sum(uint32_t value) {
  return lanes_reduce<kWarp>(value, [](uint32_t a, uint32_t b) { return a + b; });
}

// Counts values of a digit. A run of one value is counted at once: where many are the same, writes
// wait for each other.
class DigitCounter {
 public:
  __device__ __forceinline__ explicit DigitCounter(uint32_t* of_value) : of_value_(of_value) {}

  __device__ __forceinline__ void count(uint32_t value) {
    if (value != value_) flush();
    value_ = value;
    ++run_;
  }
  __device__ __forceinline__ void flush() {
    if (run_ > 0) atomicAdd(&of_value_[value_], run_);
    run_ = 0;
  }

 private:
  uint32_t* of_value_;
  uint32_t value_ = 0, run_ = 0;
};

// Counts the digit at bit `shift` of the keys whose higher ones are those of `wanted`.
template <class T, bool kKeeps>
__device__ __forceinline__ void count_digit(const Part<T, kKeeps>& part, const Wanted<T>& wanted,
                                            const Digits& digits, int shift, bool is_highest,
                                            Counts* counts) {
  using Int = typename Part<T, kKeeps>::Int;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < digits.values(); i += threads) counts->of_value[i] = 0;
  if (thread == 0) counts->nan = 0;
  __syncthreads();
  DigitCounter counter(counts->of_value);
  if (is_highest) {
    uint32_t nan = 0;
    part.each_first(thread, part.count, threads, [&](Int, KeyOf<T> key) {
      nan += key == kLargestKey<T>;
      counter.count(static_cast<uint32_t>(key >> shift));
    });
    if (nan > 0) atomicAdd(&counts->nan, nan);
  } else {
    const KeyOf<T> higher = wanted.key >> shift >> digits.bits;
    part.each_again(thread, part.count, threads, [&](Int, KeyOf<T> key) {
      const KeyOf<T> upper = key >> shift;
      if (upper >> digits.bits == higher)
        counter.count(static_cast<uint32_t>(upper) & static_cast<uint32_t>(digits.values() - 1));
    });
  }
  counter.flush();
  __syncthreads();
}

// Adds up the counts of all blocks of a row, each of which gets them.
__device__ __forceinline__ void share_counts(Counts* all, int values, Counts* own) {
  for (int i = static_cast<int>(threadIdx.x); i < values; i += static_cast<int>(blockDim.x)) {
    if (own->of_value[i] > 0) atomicAdd(&all->of_value[i], own->of_value[i]);
  }
  if (threadIdx.x == 0 && own->nan > 0) atomicAdd(&all->nan, own->nan);
  cooperative_groups::this_grid().sync();
  for (int i = static_cast<int>(threadIdx.x); i < values; i += static_cast<int>(blockDim.x))
    own->of_value[i] = __ldcg(&all->of_value[i]);
  if (threadIdx.x == 0) own->nan = __ldcg(&all->nan);
  __syncthreads();
}

// The sum of what the block's warps before this one have.
__device__ __forceinline__ uint32_t sum_before(uint32_t of_this) {
  __shared__ uint32_t of_warp[kMostWarps];
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = threadIdx.x % kWarp;
  if (lane == 0) of_warp[warp] = of_this;
  __syncthreads();
  const uint32_t before = lanes_sum(lane < warp ? of_warp[lane] : 0);
  __syncthreads();  // `of_warp` may be written again
  return before;
}

// Finds the value that the wanted element's digit has. Each warp has values side by side.
template <class T>
__device__ __forceinline__ void find_digit(const Counts& counts, int values, int shift,
                                           Wanted<T>* wanted) {
  __shared__ Wanted<T> found;
  const int warps = static_cast<int>(blockDim.x) / kWarp, lane = threadIdx.x % kWarp;
  const int share = max(kWarp, values / warps);
  const int begin = static_cast<int>(threadIdx.x) / kWarp * share, end = begin + share;
  const bool exists = begin < values;
  uint32_t own = 0;
  for (int i = begin + lane; exists && i < end; i += kWarp) own += counts.of_value[i];
  own = lanes_sum(own);
  uint32_t before = sum_before(own);
  if (wanted->place >= before && wanted->place - before < own) {
    for (int i = begin + lane; i < end; i += kWarp) {
      const uint32_t of_value = counts.of_value[i], until = before + inclusive_over_lanes(of_value);
      if (wanted->place < until && wanted->place >= until - of_value)
        found = {wanted->key | static_cast<KeyOf<T>>(i) << shift,
                 wanted->place - (until - of_value), of_value};
      before = __shfl_sync(kAllLanes, until, kWarp - 1);
    }
  }
  __syncthreads();
  *wanted = found;
  __syncthreads();  // `found` may be written again
}

// The place of the wanted element in a row: the last of those that come first, or the statistic's.
template <class T>
__device__ __forceinline__ uint32_t place_in_row(const Select& select, uint32_t nan) {
  const Rows& rows = select.sort.rows;
  if (select.elements) return static_cast<uint32_t>(rows.first - 1);
  const int64_t numbers = kIsFloating<T> ? rows.n - nan : rows.n;
  return static_cast<uint32_t>(select.sort.which.place(numbers, rows.n));
}

template <class T, bool kKeeps>
__device__ __forceinline__ Wanted<T> find_key(const Select& select, const Part<T, kKeeps>& part,
                                              int64_t row, Counts* counts) {
  Wanted<T> wanted = {};
#pragma unroll 1
  for (int digit = select.digits.count - 1; digit >= 0; --digit) {
    const int shift = digit * select.digits.bits;
    const bool is_highest = digit == select.digits.count - 1;
    count_digit(part, wanted, select.digits, shift, is_highest, counts);
    if (select.all)
      share_counts(select.all + row * select.digits.count + digit, select.digits.values(), counts);
    if (is_highest) wanted.place = place_in_row<T>(select, counts->nan);
    find_digit(*counts, select.digits.values(), shift, &wanted);
  }
  return wanted;
}

// ---- what has it

// Each warp looks at elements that lie side by side, in their order.
template <class Int>
struct WarpPart {
  Int begin, end;

  __device__ __forceinline__ explicit WarpPart(Int count) {
    const Int warps = static_cast<Int>(blockDim.x / kWarp), warp = threadIdx.x / kWarp;
    const Int share = ((count + warps - 1) / warps + kWarp - 1) / kWarp * kWarp;
    begin = min(count, warp * share);
    end = min(count, begin + share);
  }
};

// How many elements are less than the wanted one, and equal to it.
struct Taken {
  uint32_t less = 0, equal = 0;
};

template <class T, bool kKeeps, class Int>
__device__ __forceinline__ Taken count_taken(const Part<T, kKeeps>& part,
                                             const WarpPart<Int>& of_warp, KeyOf<T> key) {
  Taken own;
  part.each_again(of_warp.begin + static_cast<Int>(threadIdx.x % kWarp), of_warp.end, kWarp,
                  [&](Int, KeyOf<T> other) {
                    own.less += other < key;
                    own.equal += other == key;
                  });
  return {lanes_sum(own.less), lanes_sum(own.equal)};
}

// Those of the row's elements that come before the warp's.
__device__ __forceinline__ Taken taken_before(const Select& select, int64_t row, int64_t block,
                                              const Taken& of_warp) {
  Taken before = {sum_before(of_warp.less), sum_before(of_warp.equal)};
  if (!select.taken) return before;
  uint2* const of_row = select.taken + row * select.blocks;
  if (threadIdx.x == blockDim.x - 1)
    of_row[block] = make_uint2(before.less + of_warp.less, before.equal + of_warp.equal);
  cooperative_groups::this_grid().sync();
  Taken earlier;
  for (int64_t b = threadIdx.x % kWarp; b < block; b += kWarp) {
    const uint2 of_block = __ldcg(&of_row[b]);
    earlier.less += of_block.x, earlier.equal += of_block.y;
  }
  before.less += lanes_sum(earlier.less), before.equal += lanes_sum(earlier.equal);
  return before;
}

__device__ __forceinline__ uint32_t count_lower_lanes(uint32_t lanes) {
  return __popc(lanes & ((uint32_t{1} << threadIdx.x % kWarp) - 1));
}

// Calls use(i, exists, key) for the warp's elements in their order, one for each lane. All lanes
// take as many steps, since they ask each other.
template <class T, bool kKeeps, class Int, class Use>
__device__ __forceinline__ void each_in_order(const Part<T, kKeeps>& part,
                                              const WarpPart<Int>& of_warp, const Use& use) {
  const Int lane = threadIdx.x % kWarp;
  const Int whole = of_warp.begin + (of_warp.end - of_warp.begin) / kWarp * kWarp;
  part.each_again(of_warp.begin + lane, whole + lane, kWarp,
                  [&](Int i, KeyOf<T> key) { use(i, true, key); });
  if (whole == of_warp.end) return;
  const Int last = min(whole + lane, of_warp.end - 1);
  part.each_again(last, last + 1, kWarp,
                  [&](Int i, KeyOf<T> key) { use(i, whole + lane < of_warp.end, key); });
}

// The warp's of those that come first: all that are less, and of the equal ones as many as are
// left.
template <class T, bool kKeeps, class Int>
__device__ __forceinline__ void write_first(const Select& select, const Part<T, kKeeps>& part,
                                            const WarpPart<Int>& of_warp, int64_t row,
                                            const Wanted<T>& wanted, Taken before) {
  const uint32_t left = wanted.place + 1;
  T* const elements = static_cast<T*>(select.elements) + row * select.sort.rows.first;
  uint32_t* const positions = select.positions + row * select.sort.rows.first;
  each_in_order(part, of_warp, [&](Int i, bool exists, KeyOf<T> key) {
    const bool is_less = exists && key < wanted.key, is_equal = exists && key == wanted.key;
    const uint32_t less = __ballot_sync(kAllLanes, is_less);
    const uint32_t equal = __ballot_sync(kAllLanes, is_equal);
    const uint32_t equal_before = before.equal + count_lower_lanes(equal);
    if (is_less || (is_equal && equal_before < left)) {
      const uint32_t to = before.less + count_lower_lanes(less) + min(equal_before, left);
      elements[to] = part.element(i);
      positions[to] = static_cast<uint32_t>(part.begin + i);
    }
    before.less += __popc(less);
    before.equal += __popc(equal);
  });
}

template <class T, bool kKeeps, class Int>
__device__ __forceinline__ void write_statistic(const Select& select, const Part<T, kKeeps>& part,
                                                int64_t row, Int i) {
  int64_t offset[3];
  select.sort.rows.kept.at(static_cast<uint64_t>(row), offset);
  static_cast<T*>(select.sort.values)[offset[1]] = part.element(i);
  select.sort.indices[offset[2]] = part.begin + i;
}

// The wanted element, which is one of the warp's.
template <class T, bool kKeeps, class Int>
__device__ __forceinline__ void find_statistic(const Select& select, const Part<T, kKeeps>& part,
                                               const WarpPart<Int>& of_warp, int64_t row,
                                               const Wanted<T>& wanted, uint32_t equal_before) {
  each_in_order(part, of_warp, [&](Int i, bool exists, KeyOf<T> key) {
    const bool is_equal = exists && key == wanted.key;
    const uint32_t equal = __ballot_sync(kAllLanes, is_equal);
    if (is_equal && equal_before + count_lower_lanes(equal) == wanted.place)
      write_statistic(select, part, row, i);
    equal_before += __popc(equal);
  });
}

template <class T, bool kKeeps>
__device__ __forceinline__ void write_wanted(const Select& select, const Part<T, kKeeps>& part,
                                             int64_t row, int64_t block, const Wanted<T>& wanted) {
  using Int = typename Part<T, kKeeps>::Int;
  if (!select.elements && !select.taken && wanted.equal == 1) {
    part.each_again(threadIdx.x, part.count, blockDim.x, [&](Int i, KeyOf<T> key) {
      if (key == wanted.key) write_statistic(select, part, row, i);
    });
    return;
  }
  const WarpPart<Int> of_warp(part.count);
  const Taken own = count_taken(part, of_warp, wanted.key);
  const Taken before = taken_before(select, row, block, own);
  if (select.elements) {
    if (own.less + own.equal > 0) write_first(select, part, of_warp, row, wanted, before);
  } else if (wanted.place >= before.equal && wanted.place - before.equal < own.equal) {
    find_statistic(select, part, of_warp, row, wanted, before.equal);
  }
}

template <class T, bool kKeeps>
__global__ void __launch_bounds__(kMostThreads) select_rows(const __grid_constant__ Select select) {
  begin_kernel();
  __shared__ Counts counts;
  const int64_t teams = gridDim.x / select.blocks, block = blockIdx.x % select.blocks;
  for (int64_t row = blockIdx.x / select.blocks; row < select.sort.rows.count; row += teams) {
    const Part<T, kKeeps> part(select, row, block);
    const Wanted<T> wanted = find_key(select, part, row, &counts);
    write_wanted(select, part, row, block, wanted);
    __syncthreads();  // the next row's part takes the place of this one's
  }
}

// ---- launches

// Blocks of a row have no fewer elements than these: they wait for each other once for each digit.
constexpr int64_t kGrain = 4096;

// As many blocks for a row as can be there at once.
int64_t blocks_of_row(const dt_stream* stream, const Rows& rows) {
  if (!can_launch_together(stream->device)) return 1;
  const int64_t most = multiprocessors(stream->device) / std::max<int64_t>(rows.count, 1);
  return std::max<int64_t>(1, std::min(most, rows.n / kGrain));
}

unsigned threads_for(int64_t elements) {
  unsigned threads = 128;
  while (threads < kMostThreads && threads * 16 <= elements) threads *= 2;
  return threads;
}

// Takes what blocks of one row tell each other. Returns the bytes of counts.
int64_t take_counts(Select* select, Scratch* scratch) {
  if (select->blocks == 1) return 0;
  const int64_t rows = select->sort.rows.count, counts = rows * select->digits.count;
  select->all = scratch->take<Counts>(counts);
  select->taken = scratch->take<uint2>(rows * select->blocks);
  return counts * static_cast<int64_t>(sizeof(Counts));
}

template <class T>
int32_t run_together(const dt_stream* stream, const Select& select, int64_t bytes_of_counts) {
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  if (const cudaError_t error = cudaMemsetAsync(select.all, 0, static_cast<size_t>(bytes_of_counts),
                                                native_stream(stream)))
    return check(error, "cudaMemsetAsync", stream->fault);
  return launch_together(stream, select_rows<T, false>, select.sort.rows.count * select.blocks,
                         kMostThreads, select);
}

template <class T, bool kKeeps>
int32_t run_blocks(const dt_stream* stream, const Select& select, int64_t shared) {
  const int64_t all = shared + static_cast<int64_t>(sizeof(Counts));
  if (const int32_t code = allow_shared<select_rows<T, kKeeps>>(stream, all)) return code;
  const int64_t blocks = std::min(select.sort.rows.count, int64_t{INT32_MAX});
  return launch(stream, select_rows<T, kKeeps>, dim3(static_cast<unsigned>(blocks)),
                dim3(threads_for(select.sort.rows.n)), static_cast<size_t>(shared), select);
}

template <class T>
int32_t run_alone(const dt_stream* stream, const Select& select) {
  const int64_t bytes = select.sort.rows.n * static_cast<int64_t>(sizeof(T));
  const int64_t others = static_cast<int64_t>(sizeof(Counts)) + 2 * kSharedPerBlock;
  return bytes + others <= shared_memory(stream->device)
             ? run_blocks<T, true>(stream, select, bytes)
             : run_blocks<T, false>(stream, select, 0);
}

}  // namespace

bool can_select(const Rows& rows) {
  return rows.n <= int64_t{UINT32_MAX};
}

int32_t select_rows(const dt_stream* stream, const RowSort& sort, const Selected* to,
                    Scratch* scratch, bool is_dry) {
  return visit_any(sort.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    Select select = {sort,
                     Digits(sort.rows.n, kKeyBits<T>),
                     to ? to->elements : nullptr,
                     to ? to->positions : nullptr,
                     1,
                     nullptr,
                     nullptr};
    select.blocks = blocks_of_row(stream, sort.rows);
    const int64_t bytes_of_counts = take_counts(&select, scratch);
    if (is_dry) return DT_KERNEL_OK;
    return select.blocks > 1 ? run_together<T>(stream, select, bytes_of_counts)
                             : run_alone<T>(stream, select);
  });
}

}  // namespace dt::cuda
