// Sorts items: few by merging, more by their keys' digits, lowest first, and what is too large for
// the caches by the highest digit first, so that what is left to do is in parts that the caches
// hold.
//
// Large inputs are cut into slices: each counts its own digits and knows where to write, so that
// slices can be scattered at the same time.
#pragma once

#include "kernels/cpu/order.h"

namespace dt::cpu {
namespace {

constexpr int kDigitBits = 9;  // with more, the places that are written to leave the first cache
constexpr int64_t kRun = 16;   // items that are sorted before there is something to merge
constexpr int64_t kSliceItems = 1 << 16;
constexpr int64_t kMaxSlices = 16;
constexpr int64_t kCachedBytes =
    64 * 1024;  // of items that are sorted by their lowest digits first

inline int64_t slices_of(int64_t n, int64_t threads) {
  return threads <= 1 ? 1 : min(min(kMaxSlices, 4 * threads), ceil_div(n, kSliceItems));
}

// Up to kRun items of x go to the places in y that the numbers of smaller ones say. Nothing
// branches on what they are.
template <class Item>
__attribute__((noinline)) void rank_sort(Item* y, const Item* x, int64_t n) {
  Item all[kRun];
  for (int64_t i = 0; i < kRun; ++i)
    all[i] = i < n ? x[i] : Item::of(static_cast<typename Item::Key>(-1), -1);
  for (int64_t i = 0; i < n; ++i) {
    int64_t place = 0;
    for (int64_t j = 0; j < kRun; ++j) {
      const bool is_equal = !Item::kDiffer & (j < i) & !(all[i] < all[j]);
      place += (all[j] < all[i]) | is_equal;
    }
    y[place] = all[i];
  }
}

// Merges the sorted halves of x from both ends at once: neither waits for the other, and neither
// half can run out before the middle. Nothing branches on what the items are. [first, last] is left
// of the left half; what else was taken came from the right one.
template <class Item>
__attribute__((noinline)) void merge_halves(Item* y, const Item* x, int64_t n) {
  const int64_t half = n / 2;
  const Item* const right = x + half;
  int64_t first = 0, last = half - 1;
  for (int64_t i = 0; i < half; ++i) {
    const Item &left_first = x[first], &right_first = right[i - first];
    const Item &left_last = x[last], &right_last = right[(n - half - 1) - (i - (half - 1 - last))];
    const bool takes_right = right_first < left_first, takes_left = right_last < left_last;
    y[i] = takes_right ? right_first : left_first;
    y[n - 1 - i] = takes_left ? left_last : right_last;
    first += !takes_right, last -= takes_left;
  }
  if (n % 2 != 0) y[half] = first <= last ? x[first] : right[half - first];
}

// Leaves n sorted items in x, or in y; both have room for them.
template <class Item>
__attribute__((noinline)) void merge_sort(Item* x, Item* y, int64_t n, bool in_y) {
  if (n > kRun) {
    merge_sort(x, y, n / 2, !in_y);
    merge_sort(x + n / 2, y + n / 2, n - n / 2, !in_y);
    return in_y ? merge_halves(y, x, n) : merge_halves(x, y, n);
  }
  rank_sort(y, x, n);
  if (!in_y) __builtin_memcpy(x, y, static_cast<size_t>(n) * sizeof(Item));
}

// Part of a key.
struct Digit {
  int shift;
  uint32_t mask;

  template <class Item>
  uint32_t of(const Item& item) const {
    return static_cast<uint32_t>(item.key() >> shift) & mask;
  }
};

// The highest digit of keys of so many bits.
inline Digit top_digit(int bits) {
  return {max(0, bits - kDigitBits), (uint32_t{1} << min(bits, kDigitBits)) - 1};
}

template <class Item>
inline void count_digits(typename Item::Place* counts, const Digit& digit, const Item* x,
                         int64_t n) {
  for (uint32_t d = 0; d <= digit.mask; ++d) counts[d] = 0;
  for (int64_t i = 0; i < n; ++i) ++counts[digit.of(x[i])];
}

// Each item goes to the place of its digit, which moves on.
template <class Item>
inline void scatter(Item* y, typename Item::Place* places, const Digit& digit, const Item* x,
                    int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[places[digit.of(x[i])]++] = x[i];
}

// Turns the counts of slices, `distance` apart, into the place of each slice's first item of each
// digit. False if all n items share one digit, so that nothing would move.
template <class Place>
inline bool make_places(Place* counts, int64_t slices, int64_t distance, const Digit& digit,
                        int64_t n) {
  Place place = 0;
  for (uint32_t d = 0; d <= digit.mask; ++d) {
    const Place before = place;
    for (int64_t slice = 0; slice < slices; ++slice) {
      Place& count = counts[slice * distance + d];
      const Place here = count;
      count = place;
      place += here;
    }
    if (static_cast<int64_t>(place - before) == n) return false;
  }
  return true;
}

// What a step of merging costs, in digits, and what counting costs of any number of items.
template <class Item>
constexpr int64_t kStepCost = sizeof(Item) > 8 ? 2 : 1;
constexpr int64_t kDigitItems = 256;

inline int64_t digits_of(int bits) {
  return ceil_div(bits, kDigitBits);
}

// Steps of merging.
inline int64_t steps_of(int64_t n) {
  int64_t steps = 1;
  for (int64_t run = n; run > kRun; run = ceil_div(run, 2)) ++steps;
  return steps;
}

template <class Item>
inline bool merges(int64_t n, int bits) {
  const int64_t digits = digits_of(bits);
  return digits > 0 && kStepCost<Item> * steps_of(n) * n <= digits * (n + kDigitItems);
}

// Long keys that are spread evenly, as those of numbers are within an octave, are nearly sorted by
// as many bits as their number has: few share a digit, and those lie side by side. To merge small
// items is faster.
constexpr int kSpreadBits = 10, kLongKey = 36;
constexpr int64_t kMostAlike = 12;

// As sort_part; false, and nothing has moved, if keys are not spread.
template <class Item>
__attribute__((noinline)) bool sort_spread(Item* x, Item* y, int64_t n, int bits, bool in_y) {
  if (n <= kRun || n >> kSpreadBits > 0 || bits < kLongKey) return false;
  const int width = 63 - __builtin_clzll(static_cast<uint64_t>(n));
  const Digit digit = {bits - width, (uint32_t{1} << width) - 1};
  typename Item::Place places[1 << kSpreadBits], most = 0;
  count_digits(places, digit, x, n);
  for (uint32_t d = 0; d <= digit.mask; ++d) most = max(most, places[d]);
  if (static_cast<int64_t>(most) > kMostAlike) return false;
  make_places(places, 1, 0, digit, n);
  scatter(y, places, digit, x, n);
  for (int64_t i = 1; i < n; ++i) {
    const Item item = y[i];
    int64_t place = i;
    for (; place > 0 && item < y[place - 1]; --place) y[place] = y[place - 1];
    y[place] = item;
  }
  if (!in_y) __builtin_memcpy(x, y, static_cast<size_t>(n) * sizeof(Item));
  return true;
}

// Sorts n items in x by the lowest bits of their keys, and leaves them in x, or in y; both have
// room for them.
template <class Item>
void sort_part(Item* x, Item* y, int64_t n, int bits, bool in_y) {
  if constexpr (sizeof(Item) > sizeof(uint64_t)) {
    if (sort_spread(x, y, n, bits, in_y)) return;
  }
  if (merges<Item>(n, bits)) return merge_sort(x, y, n, in_y);
  typename Item::Place places[1 << kDigitBits];
  if (n * static_cast<int64_t>(sizeof(Item)) > kCachedBytes && bits > kDigitBits) {
    const Digit digit = top_digit(bits);
    count_digits(places, digit, x, n);
    if (!make_places(places, 1, 0, digit, n)) return sort_part(x, y, n, digit.shift, in_y);
    scatter(y, places, digit, x, n);
    int64_t begin = 0;
    for (uint32_t d = 0; d <= digit.mask; begin = static_cast<int64_t>(places[d]), ++d) {
      sort_part(y + begin, x + begin, static_cast<int64_t>(places[d]) - begin, digit.shift, !in_y);
    }
    return;
  }
  const int digits = static_cast<int>(digits_of(bits));
  const int width = digits == 0 ? 0 : static_cast<int>(ceil_div(bits, digits));
  bool is_in_y = false;
  for (int i = 0; i < digits; ++i) {
    const Digit digit = {i * width, (uint32_t{1} << width) - 1};
    const Item* const from = is_in_y ? y : x;
    count_digits(places, digit, from, n);
    if (!make_places(places, 1, 0, digit, n)) continue;
    scatter(is_in_y ? x : y, places, digit, from, n);
    is_in_y = !is_in_y;
  }
  if (is_in_y != in_y)
    __builtin_memcpy(in_y ? y : x, in_y ? x : y, static_cast<size_t>(n) * sizeof(Item));
}

template <class Item>
class RadixSort {
 public:
  using Place = typename Item::Place;

  // Scratch memory for rows of up to n items that so many threads sort together.
  RadixSort(Workspace* workspace, int64_t n, int64_t threads)
      : slices_(slices_of(n, threads)),
        items_(workspace->take<Item>(n)),
        other_(workspace->take<Item>(n)),
        counts_(workspace->take<Place>(slices_ << kDigitBits)) {}

  // What is to be sorted goes here.
  Item* items() const { return items_; }

  // Sorts n items with keys of so many bits, and says where they are then.
  const Item* run(const dt_stream* stream, int64_t n, int bits) {
    if (n * static_cast<int64_t>(sizeof(Item)) > kCachedBytes) return sort_large(stream, n, bits);
    // So that what merges begins with is where it belongs.
    const bool in_other = merges<Item>(n, bits) && steps_of(n) % 2 != 0;
    sort_part(items_, other_, n, bits, in_other);
    return in_other ? other_ : items_;
  }

 private:
  const Item* sort_large(const dt_stream* stream, int64_t n, int bits) {
    Digit digit = top_digit(bits);
    for (; bits > 0 && !scatter_slices(stream, n, digit); digit = top_digit(bits))
      bits = digit.shift;
    if (bits == 0) return items_;
    if (digit.shift == 0) return other_;
    // The last slice has moved to where the digits end.
    const Place* const ends = counts_ + ((slices_ - 1) << kDigitBits);
    parallel_for(stream, int64_t{digit.mask} + 1, slices_ == 1 ? 0 : n, [&](int64_t d) {
      const int64_t begin = d == 0 ? 0 : static_cast<int64_t>(ends[d - 1]);
      sort_part(other_ + begin, items_ + begin, static_cast<int64_t>(ends[d]) - begin, digit.shift,
                true);
    });
    return items_;
  }

  template <class Body>
  void for_each_slice(const dt_stream* stream, int64_t n, const Body& body) const {
    const int64_t per_slice = ceil_div(n, slices_);
    parallel_for(stream, slices_, slices_ == 1 ? 0 : n, [&](int64_t slice) {
      const int64_t begin = min(n, slice * per_slice);
      body(counts_ + (slice << kDigitBits), items_ + begin, min(n, begin + per_slice) - begin);
    });
  }

  // From items_ to other_; false if nothing would move.
  bool scatter_slices(const dt_stream* stream, int64_t n, const Digit& digit) {
    for_each_slice(stream, n, [&](Place* counts, const Item* x, int64_t m) {
      count_digits(counts, digit, x, m);
    });
    if (!make_places(counts_, slices_, int64_t{1} << kDigitBits, digit, n)) return false;
    for_each_slice(stream, n, [&](Place* places, const Item* x, int64_t m) {
      scatter(other_, places, digit, x, m);
    });
    return true;
  }

  const int64_t slices_;
  Item* items_;
  Item* other_;
  Place* counts_;
};

}  // namespace
}  // namespace dt::cpu
