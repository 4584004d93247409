// A stable radix sort of items by their keys, digit by digit, lowest first.
//
// Large inputs are cut into slices: each counts its own digits and knows where to write, so that
// slices can be scattered at the same time.
#pragma once

#include "kernels/cpu/order.h"

namespace dt::cpu {
namespace {

constexpr int kDigitBits = 9;  // with more, the places that are written to leave the first cache
constexpr int64_t kInsertionSort = 40;  // up to here insertion is faster than counting
constexpr int64_t kSliceItems = 1 << 16;
constexpr int64_t kMaxSlices = 16;

inline int64_t slices_of(int64_t n, int64_t threads) {
  return threads <= 1 ? 1 : min(min(kMaxSlices, 4 * threads), ceil_div(n, kSliceItems));
}

template <class Item>
inline void insertion_sort(Item* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Item item = items[i];
    int64_t at = i;
    for (; at > 0 && item.key() < items[at - 1].key(); --at) items[at] = items[at - 1];
    items[at] = item;
  }
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
    if (n <= kInsertionSort) {
      insertion_sort(items_, n);
      return items_;
    }
    const int digits = static_cast<int>(ceil_div(bits, kDigitBits));
    const int width = digits == 0 ? 0 : static_cast<int>(ceil_div(bits, digits));
    for (int digit = 0; digit < digits; ++digit)
      sort_by_digit(stream, n, {digit * width, (uint32_t{1} << width) - 1});
    return items_;
  }

 private:
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
