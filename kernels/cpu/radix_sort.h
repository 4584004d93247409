// Sorts items: few by merging, many by their keys' digits, lowest first.
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
    const int digits = static_cast<int>(ceil_div(bits, kDigitBits));
    int64_t steps = 1;
    bool in_other = true;  // so that rank_sort leaves its items where they belong
    for (int64_t run = n; run > kRun; run = ceil_div(run, 2)) ++steps, in_other = !in_other;
    if (digits > 0 && kStepCost * steps * n <= digits * (n + kDigitItems)) {
      merge_sort(items_, other_, n, in_other);
      return in_other ? other_ : items_;
    }
    const int width = digits == 0 ? 0 : static_cast<int>(ceil_div(bits, digits));
    for (int digit = 0; digit < digits; ++digit)
      sort_by_digit(stream, n, {digit * width, (uint32_t{1} << width) - 1});
    return items_;
  }

 private:
  // What a step of merging costs, in digits, and what counting costs of any number of items.
  static constexpr int64_t kStepCost = sizeof(Item) > 8 ? 2 : 1, kDigitItems = 256;

  struct Digit {
    int shift;
    uint32_t mask;

    uint32_t of(const Item& item) const {
      return static_cast<uint32_t>(item.key() >> shift) & mask;
    }
  };

  template <class Body>
  void for_each_slice(const dt_stream* stream, int64_t n, const Body& body) const {
    const int64_t per_slice = ceil_div(n, slices_);
    parallel_for(stream, slices_, slices_ == 1 ? 0 : n, [&](int64_t slice) {
      body(counts_ + (slice << kDigitBits), slice * per_slice, min(n, (slice + 1) * per_slice));
    });
  }

  void sort_by_digit(const dt_stream* stream, int64_t n, const Digit& digit) {
    for_each_slice(stream, n, [&](Place* counts, int64_t begin, int64_t end) {
      for (uint32_t d = 0; d <= digit.mask; ++d) counts[d] = 0;
      for (int64_t i = begin; i < end; ++i) ++counts[digit.of(items_[i])];
    });
    if (!make_places(n, digit)) return;
    for_each_slice(stream, n, [&](Place* places, int64_t begin, int64_t end) {
      const Item* items = items_;
      Item* other = other_;
      for (int64_t i = begin; i < end; ++i) other[places[digit.of(items[i])]++] = items[i];
    });
    Item* sorted = other_;
    other_ = items_;
    items_ = sorted;
  }

  // Turns counts into the place of each slice's first item of each digit. False if all items share
  // one digit, so that nothing would move.
  bool make_places(int64_t n, const Digit& digit) const {
    Place place = 0;
    for (uint32_t d = 0; d <= digit.mask; ++d) {
      const Place before = place;
      for (int64_t slice = 0; slice < slices_; ++slice) {
        Place& count = counts_[(slice << kDigitBits) + d];
        const Place here = count;
        count = place;
        place += here;
      }
      if (static_cast<int64_t>(place - before) == n) return false;
    }
    return true;
  }

  const int64_t slices_;
  Item* items_;
  Item* other_;
  Place* counts_;
};

}  // namespace
}  // namespace dt::cpu
