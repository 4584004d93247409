// order_statistic: the element at one place of sorted rows, which are not sorted for it.
//
// A short row's items are partitioned. In a long one the elements are counted by the highest digit
// of their keys: the wanted one lies in the bucket where the counts reach its place. Only what is
// in there is looked at further.
#include "kernels/calls/planned.h"
#include "kernels/calls/sorting.gen.h"
#include "kernels/cpu/order.h"

namespace dt::cpu {
namespace {

constexpr int kDigitBits = 11;
constexpr int64_t kBuckets = 1 << kDigitBits;
constexpr int64_t kFew = 4096;  // items that are partitioned at once
constexpr int64_t kMaxPieces = 16;

// Keys from `low` on, as many as `bits` bits can tell apart.
template <class T>
struct Bucket {
  KeyOf<T> low;
  int bits;

  bool contains(KeyOf<T> key) const {
    return bits >= 8 * static_cast<int>(sizeof(T)) || static_cast<KeyOf<T>>(key - low) >> bits == 0;
  }
  int shift() const { return bits < kDigitBits ? 0 : bits - kDigitBits; }
};

template <class T, class Item>
class RowSelect {
 public:
  RowSelect(Workspace* workspace, const dt_stream* stream, int64_t n, int64_t threads)
      : stream_(stream),
        pieces_(n <= kFew || threads <= 1 ? 1 : min(kMaxPieces, 2 * threads)),
        items_(workspace->take<Item>(n)),
        counts_(workspace->take<int64_t>(n <= kFew ? 0 : (pieces_ + 1) * kBuckets)) {}

  int64_t find(const Row<T>& x, const calls::OrderStatistic& call) {
    int64_t rank = call.rank;
    if (call.median) {
      const int64_t nans = kIsFloating<T> ? count_nans(x) : 0, others = x.n - nans;
      rank = nans > 0 && !call.skip_nan ? others : (max<int64_t>(others, 1) - 1) / 2;
    }
    return x.n <= kFew ? find_among_all(x, rank) : find_by_digits(x, rank);
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

  int64_t count_nans(const Row<T>& x) const {
    int64_t nans[kMaxPieces] = {}, sum = 0;
    for_each_piece(x, [&](int64_t piece, int64_t begin, int64_t end) {
      int64_t found = 0;
      for (int64_t i = begin; i < end; ++i) found += x[i] != x[i];
      nans[piece] = found;
    });
    for (int64_t n : nans) sum += n;
    return sum;
  }

  int64_t find_among_all(const Row<T>& x, int64_t rank) const {
    for (int64_t i = 0; i < x.n; ++i) items_[i] = Item::of(key_of(x[i]), i);
    return position_of(x.n, rank);
  }

  int64_t position_of(int64_t n, int64_t rank) const {
    select_smallest(items_, n, rank + 1);
    return items_[rank].position();
  }

  int64_t find_by_digits(const Row<T>& x, int64_t rank) const {
    Bucket<T> bucket = {0, 8 * static_cast<int>(sizeof(T))};
    while (true) {
      count_digits(x, bucket);
      int64_t digit = 0, here = 0;
      for (;; ++digit, rank -= here) {
        here = add_up(digit);
        if (rank < here) break;
      }
      const int shift = bucket.shift();
      bucket = {static_cast<KeyOf<T>>(bucket.low + (static_cast<KeyOf<T>>(digit) << shift)), shift};
      if (here <= kFew || shift == 0) return find_in_bucket(x, bucket, digit, rank);
    }
  }

  // Into rows of counts for each piece.
  void count_digits(const Row<T>& x, const Bucket<T>& bucket) const {
    const int shift = bucket.shift();
    for_each_piece(x, [&](int64_t piece, int64_t begin, int64_t end) {
      int64_t* counts = counts_ + piece * kBuckets;
      for (int64_t d = 0; d < kBuckets; ++d) counts[d] = 0;
      for (int64_t i = begin; i < end; ++i) {
        const auto key = static_cast<KeyOf<T>>(key_of(x[i]) - bucket.low);
        const auto digit = static_cast<uint64_t>(key >> shift);
        if (digit < uint64_t{kBuckets}) ++counts[digit];
      }
    });
  }

  int64_t add_up(int64_t digit) const {
    int64_t sum = 0;
    for (int64_t piece = 0; piece < pieces_; ++piece) sum += counts_[piece * kBuckets + digit];
    return sum;
  }

  // The pieces' items go behind each other, so that they are in the order of their positions.
  int64_t find_in_bucket(const Row<T>& x, const Bucket<T>& bucket, int64_t digit,
                         int64_t rank) const {
    for_each_piece(x, [&](int64_t piece, int64_t begin, int64_t end) {
      Item* to = items_;
      for (int64_t before = 0; before < piece; ++before) to += counts_[before * kBuckets + digit];
      for (int64_t i = begin; i < end; ++i) {
        const KeyOf<T> key = key_of(x[i]);
        if (bucket.contains(key)) *to++ = Item::of(key, i);
      }
    });
    return bucket.bits == 0 ? items_[rank].position() : position_of(add_up(digit), rank);
  }

  const dt_stream* stream_;
  const int64_t pieces_;
  Item* items_;
  int64_t* counts_;
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
