// argsort: a stable radix sort of (key, position) pairs, one byte of the key at a time, lowest
// first.
//
// Keys are unsigned integers in the order of the elements: equal elements have equal keys (0.0 and
// -0.0, all NaN), NaN has the largest, and a descending sort inverts the bits, which keeps it
// stable. Large inputs are cut into slices: each counts its own digits and knows where to write, so
// that slices can be scattered at the same time.
#include "kernels/calls/random.gen.h"
#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

constexpr int kDigits = 256;
constexpr int64_t kMaxSlices = 16;
constexpr int64_t kSmall = 64;  // below this many elements, insertion is faster than counting

template <class Key>
struct Item {
  Key key;
  Key position;
};

// ---- keys

constexpr uint64_t kSign64 = uint64_t(1) << 63;
constexpr uint32_t kSign32 = uint32_t(1) << 31;

inline uint32_t order_of(float x) {
  if (x != x) return UINT32_MAX;
  x += 0.0f;  // -0 becomes 0
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits & kSign32 ? ~bits : bits | kSign32;
}
inline uint64_t order_of(double x) {
  if (x != x) return UINT64_MAX;
  x += 0.0;
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits & kSign64 ? ~bits : bits | kSign64;
}
inline uint64_t order_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ kSign64;
}
inline uint32_t order_of(int32_t x) {
  return static_cast<uint32_t>(x) ^ kSign32;
}
inline uint32_t order_of(uint8_t x) {
  return x;
}

// ---- sorting

template <class Key>
void insertion_sort(Item<Key>* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Item<Key> item = items[i];
    int64_t at = i;
    for (; at > 0 && item.key < items[at - 1].key; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

inline int64_t slices_of(int64_t n) {
  return min(kMaxSlices, ceil_div(n, kSerialWork));
}

template <class Key>
class RadixSort {
 public:
  RadixSort(const dt_stream* stream, int64_t n, void* workspace)
      : stream_(stream), n_(n), slices_(slices_of(n)), per_slice_(ceil_div(n, slices_)) {
    items_ = static_cast<Item<Key>*>(workspace);
    other_ = items_ + n;
    counts_ = reinterpret_cast<int64_t*>(other_ + n);
  }

  static int64_t workspace(int64_t n) {
    return n * 2 * static_cast<int64_t>(sizeof(Item<Key>)) +
           slices_of(n) * kDigits * static_cast<int64_t>(sizeof(int64_t));
  }

  template <class T>
  void run(const T* x, int64_t* y, bool descending) {
    const Key inverted = descending ? static_cast<Key>(~Key(0)) : Key(0);
    for_each_slice([&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        items_[i] = {static_cast<Key>(order_of(x[i]) ^ inverted), static_cast<Key>(i)};
      }
    });
    if (n_ <= kSmall) {
      insertion_sort(items_, n_);
    } else {
      // Bytes above the element's own are the same in all keys.
      for (int shift = 0; shift < 8 * static_cast<int>(sizeof(T)); shift += 8) sort_by_digit(shift);
    }
    for_each_slice([&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<int64_t>(items_[i].position);
    });
  }

 private:
  template <class Body>
  void for_each_slice(const Body& body) const {
    parallel_for(stream_, slices_, n_, [&](int64_t slice) {
      body(slice, slice * per_slice_, min(n_, (slice + 1) * per_slice_));
    });
  }

  static int64_t digit(const Item<Key>& item, int shift) {
    return static_cast<int64_t>(item.key >> shift & 0xff);
  }

  void sort_by_digit(int shift) {
    for_each_slice([&](int64_t slice, int64_t begin, int64_t end) {
      int64_t* counts = counts_ + slice * kDigits;
      for (int d = 0; d < kDigits; ++d) counts[d] = 0;
      for (int64_t i = begin; i < end; ++i) ++counts[digit(items_[i], shift)];
    });
    if (!make_places()) return;
    for_each_slice([&](int64_t slice, int64_t begin, int64_t end) {
      int64_t* places = counts_ + slice * kDigits;
      for (int64_t i = begin; i < end; ++i) other_[places[digit(items_[i], shift)]++] = items_[i];
    });
    Item<Key>* sorted = other_;
    other_ = items_;
    items_ = sorted;
  }

  // Turns counts into the place of each slice's first item of each digit. False if all items share
  // one digit, so that nothing would move.
  bool make_places() {
    int64_t place = 0;
    for (int d = 0; d < kDigits; ++d) {
      const int64_t before = place;
      for (int64_t slice = 0; slice < slices_; ++slice) {
        const int64_t here = counts_[slice * kDigits + d];
        counts_[slice * kDigits + d] = place;
        place += here;
      }
      if (place - before == n_) return false;
    }
    return true;
  }

  const dt_stream* stream_;
  const int64_t n_, slices_, per_slice_;
  Item<Key>* items_;
  Item<Key>* other_;
  int64_t* counts_;
};

// ---- kernel

// Positions share the keys' type, so 32-bit keys serve only as many elements as they can number.
inline bool has_narrow_keys(const dt_view& x) {
  return bytes_of(x.dtype) < 8 && x.sizes[0] <= UINT32_MAX;
}

template <class T>
void sort(const dt_stream* stream, const calls::Argsort& call) {
  const dt_view& x = call.x;
  int64_t* y = data<int64_t>(call.y);
  const bool descending = call.descending;
  if (has_narrow_keys(x)) {
    if constexpr (sizeof(T) < 8) {
      RadixSort<uint32_t>(stream, x.sizes[0], call.workspace).run(data<const T>(x), y, descending);
    }
  } else {
    RadixSort<uint64_t>(stream, x.sizes[0], call.workspace).run(data<const T>(x), y, descending);
  }
}

}  // namespace

int32_t kernels::argsort(const dt_stream* stream, const calls::Argsort& call) {
  if (count(call.x) == 0) return DT_KERNEL_OK;
  return visit_value(call.x.dtype,
                     [&](auto type) { sort<Stored<typename decltype(type)::type>>(stream, call); });
}

int64_t kernels::argsort_workspace(const dt_stream*, const calls::Argsort& call) {
  const dt_view& x = call.x;
  const int64_t n = count(x);
  if (n == 0) return 0;
  return has_narrow_keys(x) ? RadixSort<uint32_t>::workspace(n) : RadixSort<uint64_t>::workspace(n);
}

}  // namespace dt::cpu
