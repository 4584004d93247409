// The order of elements as unsigned integers, and rows of elements in it.
//
// Equal elements have equal keys (0 and -0, all NaN), and NaN has the largest. An item is a key
// with the position of its element: items are all different, and their order is that of a stable
// sort.
#pragma once

#include "kernels/cpu/reduce_plan.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// ---- keys. T is a type as it is stored.

template <class T>
using KeyOf = Bits<sizeof(T)>;

template <class T>
constexpr KeyOf<T> kSignOf = static_cast<KeyOf<T>>(KeyOf<T>(1) << (8 * sizeof(T) - 1));
template <class T>
constexpr KeyOf<T> kLargestKey = static_cast<KeyOf<T>>(~KeyOf<T>(0));

// Without kMergeZeros -0 comes before 0.
template <bool kMergeZeros = true, class T>
inline KeyOf<T> key_of(T x) {
  using Key = KeyOf<T>;
  if constexpr (kIsFloating<T>) {
    if (kMergeZeros) x += T(0);  // -0 becomes 0
    Key bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const Key key = bits & kSignOf<T> ? ~bits : bits | kSignOf<T>;
    return x != x ? kLargestKey<T> : key;
  } else {
    return static_cast<Key>(static_cast<Key>(x) ^ (std::is_signed_v<T> ? kSignOf<T> : Key(0)));
  }
}

template <class T>
inline T element_of(KeyOf<T> key) {
  using Key = KeyOf<T>;
  if constexpr (kIsFloating<T>) {
    const Key bits = key & kSignOf<T> ? key ^ kSignOf<T> : ~key;
    T x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
  } else {
    return static_cast<T>(static_cast<Key>(key ^ (std::is_signed_v<T> ? kSignOf<T> : Key(0))));
  }
}

// Whether elements with this key may differ.
template <class T>
inline bool is_shared(KeyOf<T> key) {
  return kIsFloating<T> && (key == kSignOf<T> || key == kLargestKey<T>);
}

// ---- items: a key and a position, each of up to 32 bits, or of up to 64

struct NarrowItem {
  using Key = uint32_t;
  using Place = uint32_t;                // numbers all items
  static constexpr bool kDiffer = true;  // all are different
  uint64_t both;

  static NarrowItem of(uint64_t key, int64_t position) {
    return {key << 32 | static_cast<uint64_t>(position)};
  }
  Key key() const { return static_cast<Key>(both >> 32); }
  int64_t position() const { return static_cast<int64_t>(both & UINT32_MAX); }
  bool operator<(const NarrowItem& other) const { return both < other.both; }
};

struct WideItem {
  using Key = uint64_t;
  using Place = uint64_t;
  static constexpr bool kDiffer = true;
  uint64_t of_key, at;

  static WideItem of(uint64_t key, int64_t position) {
    return {key, static_cast<uint64_t>(position)};
  }
  Key key() const { return of_key; }
  int64_t position() const { return static_cast<int64_t>(at); }
  // As one number, whose comparison does not branch.
  __extension__ unsigned __int128 both() const {
    return static_cast<unsigned __int128>(of_key) << 64 | at;
  }
  bool operator<(const WideItem& other) const { return both() < other.both(); }
};

// A key alone, where nobody asks for positions.
template <class K, class P>
struct BareItem {
  using Key = K;
  using Place = P;
  static constexpr bool kDiffer = false;
  K of_key;

  static BareItem of(uint64_t key, int64_t) { return {static_cast<K>(key)}; }
  Key key() const { return of_key; }
  bool operator<(const BareItem& other) const { return of_key < other.of_key; }
};

// Places that no order of elements is prepared for: xorshift (Marsaglia, 2003).
constexpr uint64_t kSeed = 88172645463325252u;

inline uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state;
}

// A place in [0, n) that 64 random bits say.
inline int64_t place_below(int64_t n, uint64_t random) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(Wide{random} * static_cast<uint64_t>(n) >> 64);
}

// Moves the `count` smallest items to the front, the largest of them to place count - 1. Pivots are
// taken at random places, so that no order of the items is a bad one for long.
template <class Item>
inline void select_smallest(Item* items, int64_t n, int64_t count) {
  uint64_t random = kSeed;
  int64_t low = 0, high = n - 1;
  const int64_t wanted = count - 1;
  while (low < high) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    const Item pivot = items[low + place_below(high - low + 1, random)];
    int64_t i = low, j = high;
    while (i <= j) {
      while (items[i] < pivot) ++i;
      while (pivot < items[j]) --j;
      if (i > j) break;
      const Item swapped = items[i];
      items[i++] = items[j];
      items[j--] = swapped;
    }
    if (wanted <= j) {
      high = j;
    } else if (wanted >= i) {
      low = i;
    } else {
      return;
    }
  }
}

// The `count` smallest of n items, in the order in which they came; `copy` has room for all.
template <class Item>
inline void keep_smallest(Item* items, int64_t n, int64_t count, Item* copy) {
  for (int64_t i = 0; i < n; ++i) copy[i] = items[i];
  select_smallest(copy, n, count);
  const Item largest = copy[count - 1];
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    items[kept] = items[i];
    kept += !(largest < items[i]);
  }
}

// ---- rows

// Rows of x, values and indices, whose strides are an axis' x, y and z.
struct Rows {
  Axes kept;
  Axis along;     // its size is that of x's rows
  int64_t first;  // how many elements values and indices have in a row

  int64_t count() const { return kept.count(); }
  int64_t elements() const { return count() * along.size; }
};

inline Rows make_rows(const dt_view& x, const dt_view* values, const dt_view* indices) {
  Rows rows;
  const auto axis_of = [&](int d) {
    return Axis{x.sizes[d], x.strides[d], values ? values->strides[d] : 0,
                indices ? indices->strides[d] : 0};
  };
  const int last = x.ndim - 1;
  for (int d = 0; d < last; ++d) {
    if (x.sizes[d] != 1) insert_by_stride(&rows.kept, axis_of(d));
  }
  coalesce(&rows.kept);
  rows.along = axis_of(last);
  rows.first = values ? values->sizes[last] : indices->sizes[last];
  return rows;
}

// A row of x.
template <class T>
struct Row {
  const T* data;
  int64_t stride, n;

  T operator[](int64_t i) const { return data[i * stride]; }
};

// Where values and indices of a row go; either may be absent.
template <class T>
struct RowResult {
  T* values;
  int64_t* indices;
  int64_t value_stride, index_stride;

  void put(int64_t i, T value, int64_t position) const {
    if (values) values[i * value_stride] = value;
    if (indices) indices[i * index_stride] = position;
  }
};

template <class T>
inline Row<T> row_at(const Rows& rows, const dt_view& x, const Walk& at) {
  return {data<const T>(x) + at.x, rows.along.x, rows.along.size};
}

template <class T>
inline RowResult<T> result_at(const Rows& rows, const dt_view* values, const dt_view* indices,
                              const Walk& at) {
  return {values ? data<T>(*values) + at.y : nullptr,
          indices ? data<int64_t>(*indices) + at.z : nullptr, rows.along.y, rows.along.z};
}

// Few long rows are each cut into pieces for all threads; otherwise rows are shared out in groups.
inline bool cuts_rows(const dt_stream* stream, const Rows& rows) {
  return stream->threads > 1 && rows.count() < 2 * stream->threads &&
         rows.along.size >= 2 * kSerialWork;
}

// Calls body(walk, worker) for each row, from several threads.
template <class Body>
inline void for_each_row(const dt_stream* stream, const Rows& rows, const Body& body) {
  const int64_t count = rows.count(), group = max<int64_t>(1, 8192 / rows.along.size);
  for_each_item(stream, ceil_div(count, group), 8 * rows.elements() >= kSerialWork,
                [&](int64_t item, int64_t worker) {
                  Walk at(rows.kept, rows.kept.n, item * group);
                  const int64_t end = min(count, (item + 1) * group);
                  for (int64_t i = item * group; i < end; ++i, at.next()) body(at, worker);
                });
}

}  // namespace
}  // namespace dt::cpu
