// Sorts of rows that fit into the registers of a block: a bitonic network (sort_network.cuh) over
// words that are a key and, in their lowest bits, its position.
//
// Positions make words different, and so the order stable. A radix sort of the device passes over
// memory for each digit, and its segments get a block each however short they are; here rows are
// read and written once. Of a block's own sorts the network needs the fewest steps through shared
// memory: neighbours lie in the registers of a thread, and the next farther ones in those of a
// warp, and most of the steps are between near ones.
#include "kernels/cuda/row_sort.cuh"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sort_network.cuh"

namespace dt::cuda {
namespace {

// ---- words

constexpr int kPositionBits = 16;

// Keys of up to 16 bits.
struct NarrowWord {
  uint32_t bits;
  NarrowWord() = default;
  __device__ __forceinline__ NarrowWord(uint32_t key, int position)
      : bits(key << kPositionBits | static_cast<uint32_t>(position)) {}
  __device__ __forceinline__ uint32_t key() const { return bits >> kPositionBits; }
  __device__ __forceinline__ uint16_t position() const { return static_cast<uint16_t>(bits); }
  __device__ __forceinline__ bool operator<(const NarrowWord& other) const {
    return bits < other.bits;
  }
};

// Keys of 32 bits.
struct Word {
  uint64_t bits;
  Word() = default;
  __device__ __forceinline__ Word(uint32_t key, int position)
      : bits(uint64_t{key} << 32 | static_cast<uint32_t>(position)) {}
  __device__ __forceinline__ uint32_t key() const { return static_cast<uint32_t>(bits >> 32); }
  __device__ __forceinline__ uint16_t position() const { return static_cast<uint16_t>(bits); }
  __device__ __forceinline__ bool operator<(const Word& other) const { return bits < other.bits; }
};

// Keys of 64 bits, in parts so that words lie side by side.
struct WideWord {
  uint32_t low, high, place;
  WideWord() = default;
  __device__ __forceinline__ WideWord(uint64_t key, int position)
      : low(static_cast<uint32_t>(key)),
        high(static_cast<uint32_t>(key >> 32)),
        place(static_cast<uint32_t>(position)) {}
  __device__ __forceinline__ uint64_t key() const { return uint64_t{high} << 32 | low; }
  __device__ __forceinline__ uint16_t position() const { return static_cast<uint16_t>(place); }
  __device__ __forceinline__ bool operator<(const WideWord& other) const {
    return key() < other.key() || (key() == other.key() && place < other.place);
  }
};

template <class T>
using WordOf = std::conditional_t<sizeof(T) == 8, WideWord,
                                  std::conditional_t<sizeof(T) == 4, Word, NarrowWord>>;

// ---- rows

// The words of a row, in any order: positions are in them. What is behind the row comes last.
template <class T, int kTeam, int kItems>
__device__ __forceinline__ void load_row(const RowSort& sort, int64_t begin, int n,
                                         WordOf<T> (&word)[kItems]) {
  const T* const x = static_cast<const T*>(sort.x) + begin;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int position = i * kTeam + Team<kTeam>::rank();
    KeyOf<T> key = kLargestKey<T>;
    if (position < n) {
      key = key_of(x[position * sort.rows.x_stride]);
      if (sort.descending) key = ~key & kLargestKey<T>;
    }
    word[i] = WordOf<T>(key, position);
  }
}

// One kernel for all dtypes of a word: what differs is only how keys are made.
template <class W, int kTeam, int kItems>
__device__ __forceinline__ void load_row_of(const RowSort& sort, int64_t begin, int n,
                                            W (&word)[kItems]) {
  switch (sort.dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...)                \
  case DT_##NAME:                                         \
    if constexpr (std::is_same_v<W, WordOf<Own>>)         \
      load_row<Own, kTeam, kItems>(sort, begin, n, word); \
    break;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
}

__device__ __forceinline__ void copy_element(const void* from, int64_t i, void* to, int64_t j,
                                             int bytes) {
  switch (bytes) {
    case 1:
      static_cast<uint8_t*>(to)[j] = static_cast<const uint8_t*>(from)[i];
      break;
    case 2:
      static_cast<uint16_t*>(to)[j] = static_cast<const uint16_t*>(from)[i];
      break;
    case 4:
      static_cast<uint32_t*>(to)[j] = static_cast<const uint32_t*>(from)[i];
      break;
    default:
      static_cast<uint64_t*>(to)[j] = static_cast<const uint64_t*>(from)[i];
  }
}

// The element at a position of a row becomes number `at` of the results. That the row was read a
// moment ago makes this cheaper than to carry along what a key does not tell: the sign of 0, and
// which NaN it was.
__device__ __forceinline__ void put(const RowSort& sort, const int64_t (&offset)[3], int64_t at,
                                    int position) {
  const Rows& rows = sort.rows;
  if (sort.indices)
    sort.indices[offset[2] + at * rows.index_stride] =
        sort.positions ? sort.positions[offset[0] + position] : position;
  if (!sort.values) return;
  copy_element(sort.x, offset[0] + position * rows.x_stride, sort.values,
               offset[1] + at * rows.value_stride, sort.bytes);
}

// What a team has in shared memory: words on their way to other warps; then the sorted positions.
template <class W, int kTeam, int kItems>
union TeamSpace {
  static constexpr int kWords = kTeam * kItems;
  uint32_t words[kTeam > kWarp ? kWords * sizeof(W) / sizeof(uint32_t) : 1];
  Packet<uint16_t, kItems> positions[kTeam];
  uint64_t alignment;
};

// How many of a row's elements are numbers; every thread of the team gets it. Only floats, all of
// whose largest keys are NaN, have others.
template <class W, int kTeam, int kItems>
__device__ __forceinline__ int count_numbers(const W (&word)[kItems], int n, uint64_t nan_key) {
  int numbers = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) numbers += word[i].position() < n && word[i].key() != nan_key;
  return team_sum<kTeam>(numbers);
}

template <class W, int kTeam, int kItems>
__global__ void __launch_bounds__(Team<kTeam>::block)
    sort_rows(const __grid_constant__ RowSort sort) {
  begin_kernel();
  using Rank = Team<kTeam>;
  __shared__ TeamSpace<W, kTeam, kItems> spaces[Rank::per_block];
  TeamSpace<W, kTeam, kItems>& space = spaces[Rank::number()];
  const Rows& rows = sort.rows;
  const int64_t row = int64_t{blockIdx.x} * Rank::per_block + Rank::number();
  const bool exists = row < rows.count;
  const int n = exists ? static_cast<int>(rows.n) : 0;
  int64_t offset[3] = {};
  if (exists) rows.kept.at(static_cast<uint64_t>(row), offset);
  W word[kItems];
  load_row_of<W, kTeam, kItems>(sort, offset[0], n, word);
  Network<W, kTeam, kItems>::sort(word, reinterpret_cast<W*>(space.words));
  int64_t first = 0, count = exists ? rows.first : 0;
  if (sort.is_statistic)
    first = sort.which.place(sort.has_nan ? count_numbers<W, kTeam>(word, n, sort.nan_key) : n, n);
  Packet<uint16_t, kItems> positions;
#pragma unroll
  for (int i = 0; i < kItems; ++i) positions.value[i] = word[i].position();
  space.positions[Rank::rank()] = positions;
  Network<W, kTeam, kItems>::sync();
  const uint16_t* const sorted = space.positions[0].value;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = i * kTeam + Rank::rank();
    if (at < count) put(sort, offset, at, sorted[first + at]);
  }
}

template <class W, int kTeam, int kItems>
int32_t run(const dt_stream* stream, const RowSort& sort) {
  const int64_t blocks = divide_up(sort.rows.count, Team<kTeam>::per_block);
  return launch(stream, sort_rows<W, kTeam, kItems>, dim3(static_cast<unsigned>(blocks)),
                dim3(Team<kTeam>::block), 0, sort);
}

// Words of a thread where a team is more than a part of a warp.
constexpr int kItems = 8;

template <class W>
constexpr int kMostThreads = sizeof(W) == sizeof(WideWord) ? 256 : 512;  // shared memory's 48 KiB

template <class W>
int32_t sort_words(const dt_stream* stream, const RowSort& sort) {
  const int64_t n = sort.rows.n;
  if (n <= 32) return run<W, 32, 1>(stream, sort);
  if (n <= 128) return run<W, 32, 4>(stream, sort);
  if (n <= 32 * kItems) return run<W, 32, kItems>(stream, sort);
  if (n <= 128 * kItems / 2) return run<W, 128, kItems / 2>(stream, sort);
  if (n <= 128 * kItems) return run<W, 128, kItems>(stream, sort);
  if (n <= 256 * kItems) return run<W, 256, kItems>(stream, sort);
  return run<W, kMostThreads<W>, kItems>(stream, sort);
}

}  // namespace

RowSort::RowSort(const dt_view& x, const dt_view* values, const dt_view* indices, bool descending)
    : x(x.data),
      values(values ? values->data : nullptr),
      indices(indices ? static_cast<int64_t*>(indices->data) : nullptr),
      rows(x, values, indices),
      dtype(x.dtype),
      bytes(static_cast<int32_t>(bytes_of(x.dtype))),
      descending(descending),
      has_nan(is_floating(x.dtype)) {
  visit_any(dtype, [&](auto type) {
    nan_key = kLargestKey<typename decltype(type)::type>;
    return DT_KERNEL_OK;
  });
}

bool are_short_rows(const Rows& rows, int32_t dtype) {
  const int threads = bytes_of(dtype) == 8 ? kMostThreads<WideWord> : kMostThreads<Word>;
  return rows.n <= threads * kItems && rows.count <= INT32_MAX;
}

int32_t sort_short_rows(const dt_stream* stream, const RowSort& sort) {
  return visit_any(sort.dtype, [&](auto type) {
    return sort_words<WordOf<typename decltype(type)::type>>(stream, sort);
  });
}

}  // namespace dt::cuda
