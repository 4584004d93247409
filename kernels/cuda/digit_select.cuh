// Selection by digits: how often each value of the highest digit occurs in a row says which one the
// wanted element has; of those that have it, the next digit is counted, and so on. Then its key is
// known, and how many of equal keys come before it. Rows are not sorted: each is read once for each
// digit and twice to find what is wanted in it, all but the first time from shared memory where it
// fits in there. Counts are integers: the order in which they grow does not matter.
//
// A row belongs to a block, or, where rows are few and long, to several, which add up their counts.
#pragma once

#include "kernels/cuda/row_sort.cuh"
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
  void* elements = nullptr;       // of those that come first, [rows][first]; not of a statistic
  uint32_t* positions = nullptr;  // and where they were
  int64_t blocks = 1;             // that a row belongs to
  Counts* all = nullptr;          // [rows][digits] of several blocks, zero at first
  uint2* taken = nullptr;         // [rows][blocks] elements that are less, and equal, of several
};

// The part of a row that a block looks at. If it keeps them, keys that were looked at are in shared
// memory from then on.
template <class T, bool kKeeps, class Count = std::conditional_t<kKeeps, int32_t, int64_t>>
class Part {
 public:
  using Int = Count;  // counts elements

  int64_t begin;
  Int count;

  __device__ __forceinline__ Part(const RowSort& sort, int64_t row, int64_t block, int64_t blocks)
      : stride_(sort.rows.x_stride), descending_(sort.descending) {
    int64_t offset[3];
    sort.rows.kept.at(static_cast<uint64_t>(row), offset);
    const int64_t n = sort.rows.n, share = (n + blocks - 1) / blocks;
    begin = min(n, block * share);
    count = static_cast<Int>(min(n, begin + share) - begin);
    x_ = static_cast<const T*>(sort.x) + offset[0] + begin * stride_;
  }

  __device__ __forceinline__ T element(Int i) const { return x_[i * stride_]; }
  __device__ __forceinline__ KeyOf<T> key(Int i) const { return key_of_element(element(i)); }

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
  // Calls use(i, whether there is such an element, key) for i = first + thread and on by `threads`,
  // as often in each of so many threads: these may ask and wait for each other.
  template <int threads, class Use>
  __device__ __forceinline__ void each_together(Int first, Int end, const Use& use) const {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t x_step = threads * stride_;
    const T* x = x_ + (first + thread) * stride_;
    for (; first + kAtOnce * threads <= end; first += kAtOnce * threads, x += kAtOnce * x_step) {
      KeyOf<T> key[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) key[j] = key_of_element(x[j * x_step]);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) use(first + thread + j * threads, true, key[j]);
    }
    if (first >= end) return;
    KeyOf<T> key[kAtOnce] = {};
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      if (first + thread + j * threads < end) key[j] = key_of_element(x[j * x_step]);
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const Int i = first + thread + j * threads;
      if (first + j * threads < end) use(i, i < end, key[j]);
    }
  }

 private:
  using Word = Bits<sizeof(T)>;

  static constexpr int kAtOnce = 8;

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
    const int64_t x_step = step * stride_;
    const T* x = x_ + first * stride_;
    Int i = first;
    for (; i + (kAtOnce - 1) * step < end; i += kAtOnce * step, x += kAtOnce * x_step) {
      KeyOf<T> key[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) key[j] = load(x + j * x_step, i + j * step);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) use(i + j * step, key[j]);
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

__device__ __forceinline__ int lane_of_warp() {
  return static_cast<int>(threadIdx.x % kWarp);
}

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
template <class T, bool kKeeps, class Int>
__device__ __forceinline__ void count_digit(const Part<T, kKeeps, Int>& part,
                                            const Wanted<T>& wanted, const Digits& digits,
                                            int shift, bool is_highest, Counts* counts) {
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
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_of_warp();
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
__device__ __forceinline__ uint32_t place_in_row(const RowSort& sort, uint32_t nan) {
  if (!sort.is_statistic) return static_cast<uint32_t>(sort.rows.first - 1);
  const int64_t numbers = kIsFloating<T> ? sort.rows.n - nan : sort.rows.n;
  return static_cast<uint32_t>(sort.which.place(numbers, sort.rows.n));
}

template <class T, bool kKeeps, class Int>
__device__ __forceinline__ Wanted<T> find_key(const Select& select,
                                              const Part<T, kKeeps, Int>& part, int64_t row,
                                              Counts* counts) {
  Wanted<T> wanted = {};
#pragma unroll 1
  for (int digit = select.digits.count - 1; digit >= 0; --digit) {
    const int shift = digit * select.digits.bits;
    const bool is_highest = digit == select.digits.count - 1;
    count_digit(part, wanted, select.digits, shift, is_highest, counts);
    if (select.all)
      share_counts(select.all + row * select.digits.count + digit, select.digits.values(), counts);
    if (is_highest) wanted.place = place_in_row<T>(select.sort, counts->nan);
    find_digit(*counts, select.digits.values(), shift, &wanted);
  }
  return wanted;
}

// ---- what has it

__device__ __forceinline__ uint32_t count_lower_lanes(uint32_t lanes) {
  return __popc(lanes & ((uint32_t{1} << threadIdx.x % kWarp) - 1));
}

template <class T, bool kKeeps, class Int>
__device__ __forceinline__ void write_statistic(const RowSort& sort,
                                                const Part<T, kKeeps, Int>& part, int64_t row,
                                                Int i) {
  int64_t offset[3];
  sort.rows.kept.at(static_cast<uint64_t>(row), offset);
  static_cast<T*>(sort.values)[offset[1]] = part.element(i);
  sort.indices[offset[2]] = part.begin + i;
}

}  // namespace
}  // namespace dt::cuda
