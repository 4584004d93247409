// Sorts items: few by merging, more by their keys' digits, lowest first.
//
// Large inputs are cut into slices: each counts its own digits and knows where to write, so that
// slices can be scattered at the same time.
#pragma once

#include "kernels/cpu/order.h"

namespace dt::cpu {
namespace {

constexpr int kDigitBits = 11;      // with more, the places that are written to leave the caches
constexpr int kShortDigitBits = 8;  // of few items, which are fewer than the longer digits
constexpr int64_t kFewItems = 1 << kDigitBits;
constexpr int64_t kRun = 16;  // items that are sorted before there is something to merge
constexpr int64_t kSliceItems = 1 << 16;
constexpr int64_t kMaxSlices = 16;

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

template <class Item>
inline void count_digits(typename Item::Place* counts, const Digit& digit, const Item* x,
                         int64_t n) {
  for (uint32_t d = 0; d <= digit.mask; ++d) counts[d] = 0;
  for (int64_t i = 0; i < n; ++i) ++counts[digit.of(x[i])];
}

// Each item goes to the place of its digit, which moves on: two at a time, since a place that has
// just been moved is slow to read. The lines that follow are fetched, for stores wait in a row for
// those that are not there.
template <class Item>
inline void scatter(Item* y, typename Item::Place* places, const Digit& digit, const Item* x,
                    int64_t n) {
  using Place = typename Item::Place;
  constexpr int64_t kLine = 64 / sizeof(Item);
  int64_t i = 0;
  for (; i + 1 < n; i += 2) {
    const Item left = x[i], right = x[i + 1];
    const uint32_t a = digit.of(left), b = digit.of(right);
    const Place to_left = places[a], to_right = places[b] + (a == b);
    places[a] = to_left + 1, places[b] = to_right + 1;
    y[to_left] = left, y[to_right] = right;
    __builtin_prefetch(y + to_left + kLine, 1);
    __builtin_prefetch(y + to_right + kLine, 1);
  }
  if (i < n) y[places[digit.of(x[i])]] = x[i];
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

inline int digit_bits(int64_t n) {
  return n < kFewItems ? kShortDigitBits : kDigitBits;
}
inline int64_t digits_of(int64_t n, int bits) {
  return ceil_div(bits, digit_bits(n));
}

// Steps of merging.
inline int64_t steps_of(int64_t n) {
  int64_t steps = 1;
  for (int64_t run = n; run > kRun; run = ceil_div(run, 2)) ++steps;
  return steps;
}

// A step of merging wide items costs what so many of narrow ones do, or as many digits; to count a
// short digit costs what so many items do.
template <class Item>
constexpr int64_t kStepCost = sizeof(Item) > 8 ? 3 : 1;
constexpr int64_t kDigitItems = 85;

template <class Item>
inline bool merges(int64_t n, int bits) {
  return n < kFewItems &&
         kStepCost<Item> * steps_of(n) * n <= digits_of(n, bits) * (n + kDigitItems);
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
  Item* run(const dt_stream* stream, int64_t n, int bits) {
    if (merges<Item>(n, bits)) {
      // So that what merging begins with is where it belongs.
      const bool in_other = steps_of(n) % 2 != 0;
      merge_sort(items_, other_, n, in_other);
      return in_other ? other_ : items_;
    }
    const int digits = static_cast<int>(digits_of(n, bits));
    const int width = digits == 0 ? 0 : static_cast<int>(ceil_div(bits, digits));
    Item *from = items_, *to = other_;
    for (int i = 0; i < digits; ++i) {
      const Digit digit = {i * width, (uint32_t{1} << width) - 1};
      if (move(stream, to, from, n, digit)) std::swap(from, to);
    }
    return from;
  }

 private:
  template <class Body>
  void for_each_slice(const dt_stream* stream, int64_t n, const Body& body) const {
    const int64_t per_slice = ceil_div(n, slices_);
    parallel_for(stream, slices_, slices_ == 1 ? 0 : n, [&](int64_t slice) {
      const int64_t begin = min(n, slice * per_slice);
      body(counts_ + (slice << kDigitBits), begin, min(n, begin + per_slice) - begin);
    });
  }

  // From x to y, in the order of a digit; false if nothing would move.
  bool move(const dt_stream* stream, Item* y, const Item* x, int64_t n, const Digit& digit) {
    for_each_slice(stream, n, [&](Place* counts, int64_t begin, int64_t m) {
      count_digits(counts, digit, x + begin, m);
    });
    if (!make_places(counts_, slices_, int64_t{1} << kDigitBits, digit, n)) return false;
    for_each_slice(stream, n, [&](Place* places, int64_t begin, int64_t m) {
      scatter(y, places, digit, x + begin, m);
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
