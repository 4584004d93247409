// order_statistic: the element at one place of sorted rows, which are not sorted for it.
//
// The key at a place of few keys is found bit by bit, each of which takes a count of all keys: that
// is what vectors are good at. Of a long row such a sample says between which keys the wanted one
// lies, most likely; what lies there is gathered, then counted by the highest digit of the keys,
// and only what shares the wanted one's digit is looked at further.
#include "kernels/calls/planned.h"
#include "kernels/calls/sorting.gen.h"
#include "kernels/cpu/order.h"

namespace dt::cpu {
namespace {

// Keys that are looked through bit by bit.
template <class T>
constexpr int64_t kShortRow = sizeof(T) < 8 ? 4096 : 256;
constexpr int64_t kUnsampled = 4096;  // up to here a sample is not worth its while
constexpr int64_t kMaxSample = 1024;
constexpr int64_t kMaxPieces = 16;
constexpr int kDigitBits = 11, kShortDigitBits = 8;
constexpr int64_t kFew = 48;  // items that are partitioned at once

template <class Key>
Key smallest_from(const Key* keys, int64_t n, Key bound) {
  auto smallest = static_cast<Key>(~Key(0));
  for (int64_t i = 0; i < n; ++i)
    smallest = keys[i] >= bound && keys[i] < smallest ? keys[i] : smallest;
  return smallest;
}

// The key at place `rank` of n keys: the smallest of those that have `rank` keys below them. Bits
// are set until so many are, or, where keys are equal, to the last.
template <class Key>
Key key_at(const Key* keys, int64_t n, int64_t rank) {
  Key differing = 0;
  for (int64_t i = 0; i < n; ++i) differing |= static_cast<Key>(keys[i] ^ keys[0]);
  const int bits = differing == 0 ? 0 : 64 - __builtin_clzll(differing);
  Key found = bits >= 8 * static_cast<int>(sizeof(Key)) ? Key(0)
                                                        : static_cast<Key>(keys[0] >> bits << bits);
  for (int bit = bits - 1; bit >= 0; --bit) {
    const auto next = static_cast<Key>(found | Key(1) << bit);
    using Count = std::conditional_t<sizeof(Key) == sizeof(uint64_t), uint64_t, uint32_t>;
    Count below = 0;  // as wide as keys: they move through vectors together
    for (int64_t i = 0; i < n; ++i) below += keys[i] < next;
    if (static_cast<int64_t>(below) == rank) return smallest_from(keys, n, next);
    if (static_cast<int64_t>(below) < rank) found = next;
  }
  return found;
}

template <class T>
struct Between {
  KeyOf<T> low = 0, high = kLargestKey<T>;
};

template <class T, class Item>
class RowSelect {
 public:
  RowSelect(Workspace* workspace, const dt_stream* stream, int64_t n, int64_t threads)
      : stream_(stream),
        pieces_(threads <= 1 ? 1 : min(kMaxPieces, 2 * threads)),
        items_(workspace->take<Item>(n <= kShortRow<T> ? 0 : n)) {}

  int64_t find(const Row<T>& x, const calls::OrderStatistic& call) {
    const int64_t rank = call.median ? median_of(x, call.skip_nan) : call.rank;
    if (x.n <= kShortRow<T>) return find_in_short(x, rank);
    Between<T> range = x.n <= kUnsampled ? Between<T>() : likely_range(x, rank);
    while (true) {
      const int64_t below = gather(x, range);
      if (rank < below) {
        range = {0, static_cast<KeyOf<T>>(range.low - 1)};
      } else if (rank >= below + n_) {
        range = {static_cast<KeyOf<T>>(range.high + 1), kLargestKey<T>};
      } else {
        return find_in_gathered(rank - below);
      }
    }
  }

 private:
  // Calls body(piece, begin, end) for pieces of a row, at the same time.
  template <class Body>
  void for_each_piece(const Row<T>& x, const Body& body) const {
    const int64_t length = ceil_div(x.n, pieces_);
    parallel_for(stream_, pieces_, pieces_ == 1 ? 0 : x.n, [&](int64_t piece) {
      body(piece, min(x.n, piece * length), min(x.n, (piece + 1) * length));
    });
  }

  int64_t median_of(const Row<T>& x, bool skip_nan) const {
    int64_t nans[kMaxPieces] = {}, sum = 0;
    if (kIsFloating<T>) {
      for_each_piece(x, [&](int64_t piece, int64_t begin, int64_t end) {
        int64_t found = 0;
        for (int64_t i = begin; i < end; ++i) found += x[i] != x[i];
        nans[piece] = found;
      });
    }
    for (int64_t n : nans) sum += n;
    const int64_t others = x.n - sum;
    return sum > 0 && !skip_nan ? others : (max<int64_t>(others, 1) - 1) / 2;
  }

  static int64_t find_in_short(const Row<T>& x, int64_t rank) {
    KeyOf<T> keys[kShortRow<T>];
    for (int64_t i = 0; i < x.n; ++i) keys[i] = key_of(x[i]);
    const KeyOf<T> key = key_at(keys, x.n, rank);
    for (int64_t i = 0; i < x.n; ++i) rank -= keys[i] < key;
    int64_t position = 0;
    while (keys[position] != key || rank-- > 0) ++position;
    return position;
  }

  // Three standard deviations of the sample's place to either side, at least.
  static Between<T> likely_range(const Row<T>& x, int64_t rank) {
    KeyOf<T> keys[kMaxSample];
    const int64_t sample = min(kMaxSample, x.n / 32), step = x.n / sample;
    uint64_t random = kSeed;
    for (int64_t i = 0; i < sample; ++i)
      keys[i] = key_of(x[i * step + place_below(step, next_random(&random))]);
    int64_t margin = 1;
    while (4 * margin * margin < 9 * sample) ++margin;
    const auto place = static_cast<int64_t>(static_cast<double>(rank) / static_cast<double>(x.n) *
                                            static_cast<double>(sample));
    Between<T> range;
    if (place > margin) range.low = key_at(keys, sample, place - margin);
    if (place + margin < sample) range.high = key_at(keys, sample, place + margin);
    return range;
  }

  // Makes items of the elements in the range, in their order; the result says how many are below.
  int64_t gather(const Row<T>& x, const Between<T>& range) {
    int64_t below[kMaxPieces] = {}, inside[kMaxPieces] = {}, first[kMaxPieces] = {}, sum = 0;
    for_each_piece(x, [&](int64_t piece, int64_t begin, int64_t end) {
      const auto width = static_cast<KeyOf<T>>(range.high - range.low);
      Item* to = items_ + begin;
      int64_t lower = 0;
      for (int64_t i = begin; i < end; ++i) {
        const KeyOf<T> key = key_of(x[i]);
        *to = Item::of(key, i);
        to += static_cast<KeyOf<T>>(key - range.low) <= width;
        lower += key < range.low;
      }
      below[piece] = lower, first[piece] = begin, inside[piece] = to - (items_ + begin);
    });
    n_ = 0;
    for (int64_t piece = 0; piece < pieces_; ++piece) {
      for (int64_t i = 0; i < inside[piece]; ++i) items_[n_++] = items_[first[piece] + i];
      sum += below[piece];
    }
    return sum;
  }

  int64_t find_in_gathered(int64_t rank) {
    while (n_ > kFew) {
      uint64_t low = items_[0].key(), high = low;
      for (int64_t i = 0; i < n_; ++i) {
        low = min<uint64_t>(low, items_[i].key());
        high = max<uint64_t>(high, items_[i].key());
      }
      if (low == high) return items_[rank].position();
      const int bits = 64 - __builtin_clzll(high - low);
      const int width = n_ <= kUnsampled ? kShortDigitBits : kDigitBits;
      rank = keep_digit(low, max(0, bits - width), rank);
    }
    select_smallest(items_, n_, rank + 1);
    return items_[rank].position();
  }

  // Keeps the items whose digit is that of the one at `rank`, which has another rank among them.
  int64_t keep_digit(uint64_t low, int shift, int64_t rank) {
    typename Item::Place counts[1 << kDigitBits] = {};
    const auto digit_of = [&](const Item& item) { return (item.key() - low) >> shift; };
    for (int64_t i = 0; i < n_; ++i) ++counts[digit_of(items_[i])];
    uint64_t digit = 0;
    for (; rank >= static_cast<int64_t>(counts[digit]); ++digit) rank -= counts[digit];
    int64_t kept = 0;
    for (int64_t i = 0; i < n_; ++i) {
      items_[kept] = items_[i];
      kept += digit_of(items_[i]) == digit;
    }
    n_ = kept;
    return rank;
  }

  const dt_stream* stream_;
  const int64_t pieces_;
  Item* items_;
  int64_t n_ = 0;
};

template <class T, class Item>
class SelectRows {
 public:
  SelectRows(const dt_stream* stream, const calls::OrderStatistic& call, const Rows& rows)
      : stream_(stream), call_(call), rows_(rows), is_cut_(cuts_rows(stream, rows)) {}

  int64_t workspace() const { return bytes_of_worker() * (is_cut_ ? 1 : stream_->threads); }

  void run() const {
    if (is_cut_) {
      Walk at(rows_.kept, rows_.kept.n, 0);
      for (int64_t i = 0; i < rows_.count(); ++i, at.next()) find(at, 0);
    } else {
      for_each_row(stream_, rows_, [&](const Walk& at, int64_t worker) { find(at, worker); });
    }
  }

 private:
  RowSelect<T, Item> select(Workspace* memory) const {
    return {memory, stream_, rows_.along.size, is_cut_ ? stream_->threads : 1};
  }

  int64_t bytes_of_worker() const {
    Workspace sizes(nullptr);
    select(&sizes);
    return sizes.bytes();
  }

  void find(const Walk& at, int64_t worker) const {
    Workspace memory(static_cast<char*>(call_.workspace) + worker * bytes_of_worker());
    const auto x = row_at<T>(rows_, call_.x, at);
    const int64_t position = select(&memory).find(x, call_);
    result_at<T>(rows_, &call_.values, &call_.indices, at).put(0, x[position], position);
  }

  const dt_stream* stream_;
  const calls::OrderStatistic& call_;
  const Rows& rows_;
  const bool is_cut_;
};

template <class T, class Item>
void select(const dt_stream* stream, const calls::OrderStatistic& call, const Rows& rows,
            int64_t* bytes) {
  const SelectRows<T, Item> select(stream, call, rows);
  if (bytes) {
    *bytes = select.workspace();
  } else {
    select.run();
  }
}

int32_t plan_order_statistic(const dt_stream* stream, const calls::OrderStatistic& call,
                             int64_t* bytes) {
  if (count(call.x) == 0) return DT_KERNEL_OK;
  const Rows rows = make_rows(call.x, &call.values, &call.indices);
  return visit_value(call.x.dtype, [&](auto type) {
    using T = Stored<typename decltype(type)::type>;
    if (sizeof(T) < 8 && rows.along.size <= UINT32_MAX) {
      select<T, NarrowItem>(stream, call, rows, bytes);
    } else {
      select<T, WideItem>(stream, call, rows, bytes);
    }
  });
}

}  // namespace

DT_PLANNED_KERNEL(order_statistic, OrderStatistic, plan_order_statistic)

}  // namespace dt::cpu
