// sort: what comes first in sorted rows, all of it or only few elements.
//
// Where much of a row is wanted, it is sorted as a whole (radix_sort.h): keys are counted from the
// smallest on, so that those of numbers that lie close together have few digits. Where little is
// wanted, candidates are picked while the row is read: what is behind as many others is none.
#include "kernels/calls/planned.h"
#include "kernels/calls/sorting.gen.h"
#include "kernels/cpu/radix_sort.h"
#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

constexpr int64_t kFewOf = 16;          // up to one in so many elements are few
constexpr int64_t kHandful = 16;        // up to so many are few in shorter rows, too
constexpr int64_t kHandfulOf = 2;       // where they are up to one in so many
constexpr int64_t kInsertionSort = 40;  // up to so many, they are kept in order
constexpr int64_t kTile = 64;
constexpr int64_t kSpreadSample = 64, kMostSpread = 1 << 18;
constexpr int64_t kAhead = 16;       // items whose elements are fetched
constexpr int64_t kMovesOfItem = 4;  // of items with keys alike, before longer keys are sorted

// ---- whole rows

template <class T>
struct KeyRange {
  KeyOf<T> low, high;

  int bits() const {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    return range == 0 ? 0 : 64 - __builtin_clzll(range);
  }
};

template <bool kMergeZeros, class T>
KeyRange<T> range_of(const Row<T>& x, int64_t begin, int64_t end) {
  KeyRange<T> range = {kLargestKey<T>, 0};
  const auto add = [&](T element) {
    const KeyOf<T> key = key_of<kMergeZeros>(element);
    range.low = min(range.low, key);
    range.high = max(range.high, key);
  };
  if (x.stride == 1) {
    for (int64_t i = begin; i < end; ++i) add(x.data[i]);
  } else {
    for (int64_t i = begin; i < end; ++i) add(x[i]);
  }
  return range;
}

// Items that have keys alone are for values alone.
template <class Item>
constexpr bool kHasPosition = std::is_same_v<Item, NarrowItem> || std::is_same_v<Item, WideItem>;

template <class T, class Item>
class RowSort {
 public:
  RowSort(Workspace* workspace, int64_t n, int64_t threads) : sort_(workspace, n, threads) {}

  // Keys that are longer than an item's are sorted by their highest bits, and those that share them
  // by comparing. False, and nothing is put, if there are too many of these.
  bool run(const dt_stream* stream, const Row<T>& x, const KeyRange<T>& range, bool descending,
           const RowResult<T>& y, int64_t first) {
    const uint64_t low = range.low, high = range.high;
    const int shift = range.bits() - min(range.bits(), key_bits(x, range));
    Item* items = sort_.items();
    for_each_piece(stream, x.n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t key = key_of<kHasPosition<Item>>(x[i]);
        items[i] = Item::of((descending ? high - key : key - low) >> shift, i);
      }
    });
    Item* const sorted = sort_.run(stream, x.n, range.bits() - shift);
    const bool is_cut = kCutsKeys && shift > 0;
    if constexpr (kCutsKeys) {
      if (is_cut && !order_alike(stream, x, descending, sorted)) return false;
    }
    for_each_piece(stream, first, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t key = descending ? high - sorted[i].key() : low + sorted[i].key();
        put(x, y, i, static_cast<KeyOf<T>>(key), is_cut, sorted[i]);
      }
    });
    return true;
  }

  template <class Body>
  static void for_each_piece(const dt_stream* stream, int64_t n, const Body& body) {
    parallel_for(stream, ceil_div(n, kSliceItems), n, [&](int64_t piece) {
      body(piece * kSliceItems, min(n, (piece + 1) * kSliceItems));
    });
  }

 private:
  static constexpr bool kCutsKeys = std::is_same_v<Item, NarrowItem> &&
                                    sizeof(T) > sizeof(typename Item::Key);

  // How many bits of keys an item has. Two digits tell nearly all of few keys apart if these are
  // spread evenly, as random ones are: those of a sample fall into all eighths of the range.
  static int key_bits(const Row<T>& x, const KeyRange<T>& range) {
    constexpr int kItemBits = 8 * static_cast<int>(sizeof(typename Item::Key));
    const int bits = range.bits();
    if (bits <= kItemBits || x.n > kMostSpread) return kItemBits;
    int64_t counts[8] = {}, least = kSpreadSample, most = 0;
    for (int64_t i = 0; i < kSpreadSample; ++i)
      ++counts[(key_of(x[x.n * i / kSpreadSample]) - range.low) >> (bits - 3)];
    for (int64_t count : counts) least = min(least, count), most = max(most, count);
    const bool is_spread = least > 0 && most <= kSpreadSample / 3;
    return is_spread ? 2 * digit_bits(x.n) : kItemBits;
  }

  static void put(const Row<T>& x, const RowResult<T>& y, int64_t i, KeyOf<T> key, bool is_cut,
                  const Item& item) {
    if constexpr (kHasPosition<Item>) {
      const int64_t position = item.position();
      const bool is_known = !is_cut && !is_shared<T>(key);
      y.put(i, is_known || !y.values ? element_of<T>(key) : x[position], position);
    } else {
      y.put(i, element_of<T>(key), 0);
    }
  }

  // Puts items whose keys are alike in the order of their elements. No run of such items is cut.
  static bool order_alike(const dt_stream* stream, const Row<T>& x, bool descending, Item* items) {
    const int64_t pieces = min(kMaxSlices, ceil_div(x.n, kSliceItems));
    int64_t begin[kMaxSlices + 1], moves_left[kMaxSlices];
    for (int64_t piece = 0; piece <= pieces; ++piece) {
      int64_t& at = begin[piece] = x.n * piece / pieces;
      while (at > 0 && at < x.n && items[at].key() == items[at - 1].key()) ++at;
    }
    const KeyOf<T> inverted = descending ? kLargestKey<T> : KeyOf<T>(0);
    parallel_for(stream, pieces, x.n, [&](int64_t piece) {
      Item* const here = items + begin[piece];
      const int64_t n = begin[piece + 1] - begin[piece];
      moves_left[piece] = kMovesOfItem * n - insert_alike(x, inverted, here, n);
    });
    for (int64_t piece = 0; piece < pieces; ++piece) {
      if (moves_left[piece] < 0) return false;
    }
    return true;
  }

  // The number of moves, or one that is larger than allowed.
  static int64_t insert_alike(const Row<T>& x, KeyOf<T> inverted, Item* items, int64_t n) {
    const auto whole = [&](const Item& item) {
      return static_cast<KeyOf<T>>(key_of(x[item.position()]) ^ inverted);
    };
    int64_t moves = 0;
    bool is_alike = false;
    KeyOf<T> largest = 0;  // of those that are alike, until here
    for (int64_t i = 1; i < n && moves <= kMovesOfItem * n; ++i) {
      const Item item = items[i];
      const bool was_alike = is_alike;
      is_alike = item.key() == items[i - 1].key();
      if (!is_alike) continue;
      if (!was_alike) largest = whole(items[i - 1]);
      __builtin_prefetch(&x.data[items[min(i + kAhead, n - 1)].position() * x.stride]);
      const KeyOf<T> key = whole(item);
      if (key >= largest) {
        largest = key;
        continue;
      }
      int64_t place = i;
      for (; place > 0 && item.key() == items[place - 1].key() && key < whole(items[place - 1]);
           --place) {
        items[place] = items[place - 1];
      }
      items[place] = item;
      moves += i - place;
    }
    return moves;
  }

  RadixSort<Item> sort_;
};

// ---- few elements

// The `count` smallest items in order, at the end of a list that vectors hold: an item moves all
// behind it at once, and nothing branches on where that is. What is before them is 0, and where
// items are to come is what is larger than any.
class Handful {
 public:
  __attribute__((noinline)) explicit Handful(int64_t count) : first_(kHandful - count) {
    for (int64_t i = 0; i < kHandful; ++i) list_[i / kWidth][i % kWidth] = i < first_ ? 0 : kNone;
  }

  bool is_full() const { return last() != kNone; }
  uint32_t bound() const { return NarrowItem{last()}.key(); }

  // What is below the bound is found before anything is put in: that branches on nothing, either.
  __attribute__((noinline)) void add(const uint32_t* keys, int64_t n, int64_t at) {
    const bool takes_all = !is_full();
    const uint32_t below = bound();
    NarrowItem some[kHandful];
    int64_t taken = 0;
    for (int64_t i = 0; i < n; ++i) {
      some[taken] = NarrowItem::of(keys[i], at + i);
      taken += takes_all | (keys[i] < below);
    }
    for (int64_t i = 0; i < taken; ++i) insert(some[i]);
  }

  __attribute__((noinline)) void get(NarrowItem* items) const {
    for (int64_t i = first_; i < kHandful; ++i) items[i - first_] = {list_[i / kWidth][i % kWidth]};
  }

 private:
  static constexpr int kWidth = kVectorBytes / sizeof(uint64_t), kVectors = kHandful / kWidth;
  static constexpr uint64_t kNone = UINT64_MAX;
  typedef uint64_t List __attribute__((vector_size(kVectorBytes)));

  void insert(const NarrowItem& item) {
    const List x = List{} + item.both;
#pragma GCC unroll 8
    for (int i = kVectors - 1; i >= 0; --i) {
      const List before =
          one_up(i > 0 ? list_[i - 1] : List{}, list_[i], std::make_index_sequence<kWidth>());
      const List lower = list_[i] < x ? list_[i] : x;
      list_[i] = lower > before ? lower : before;
    }
  }

  // The elements of `list` one place higher, behind the last one of `before`.
  template <size_t... kLane>
  static List one_up(const List& before, const List& list, std::index_sequence<kLane...>) {
    return __builtin_shufflevector(before, list, kWidth - 1 + kLane...);
  }
  uint64_t last() const {
    return list_[kVectors - 1][kWidth - 1];
  }

  const int64_t first_;
  List list_[kVectors];
};

// The `count` smallest items of a row's elements, as they go by, in the order in which they came;
// or, if they are a handful, in their own.
template <class Item>
class Candidates {
 public:
  // How many may gather before those that are too large go.
  static int64_t room(int64_t count) { return count + max<int64_t>(count, 2 * kTile); }

  // With twice that room.
  Candidates(Item* items, int64_t count)
      : items_(items), copy_(items + room(count)), count_(count) {}

  template <class T>
  void read(const Row<T>& x, int64_t begin, int64_t end, bool descending) {
    if constexpr (std::is_same_v<Item, NarrowItem>) {
      if (count_ <= kHandful && count_ * kFewOf > end - begin)
        return read_handful(x, begin, end, descending);
    }
    const KeyOf<T> inverted = descending ? kLargestKey<T> : KeyOf<T>(0);
    KeyOf<T> keys[kTile];
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = min(kTile, end - at);
      const KeyOf<T> lowest = read_keys(x, at, n, inverted, keys);
      if (is_full_ && lowest >= bound_) continue;
      if (count_ <= kInsertionSort) {
        insert(keys, n, at);
      } else {
        add(keys, n, at);
      }
    }
  }

  // How many there are.
  int64_t finish() {
    if (n_ > count_) cut();
    return n_;
  }

 private:
  template <class T>
  void read_handful(const Row<T>& x, int64_t begin, int64_t end, bool descending) {
    const KeyOf<T> inverted = descending ? kLargestKey<T> : KeyOf<T>(0);
    KeyOf<T> keys[kTile];
    Handful best(count_);
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = min(kTile, end - at);
      const KeyOf<T> lowest = read_keys(x, at, n, inverted, keys);
      if (best.is_full() && lowest >= best.bound()) continue;
      uint32_t some[kHandful];
      for (int64_t i = 0; i < n; i += kHandful) {
        const int64_t count = min(kHandful, n - i);
        for (int64_t k = 0; k < count; ++k) some[k] = keys[i + k];
        best.add(some, count, at + i);
      }
    }
    // A shorter piece of a row leaves places empty: what is there comes last, and other pieces have
    // enough.
    best.get(items_);
    n_ = count_;
  }

  // The lowest of n <= kTile keys.
  template <class T>
  static KeyOf<T> read_keys(const Row<T>& x, int64_t at, int64_t n, KeyOf<T> inverted,
                            KeyOf<T>* keys) {
    KeyOf<T> lowest = kLargestKey<T>;
    if (x.stride == 1 && n == kTile) {  // a loop of one length needs no rest
      for (int64_t i = 0; i < kTile; ++i) keys[i] = key_of(x.data[at + i]) ^ inverted;
      for (int64_t i = 0; i < kTile; ++i) lowest = min(lowest, keys[i]);
      return lowest;
    }
    for (int64_t i = 0; i < n; ++i) {
      keys[i] = key_of(x[at + i]) ^ inverted;
      lowest = min(lowest, keys[i]);
    }
    return lowest;
  }

  // Of what is equal the first stays: all that comes later is behind it.
  template <class Key>
  void insert(const Key* keys, int64_t n, int64_t at) {
    for (int64_t i = 0; i < n; ++i) {
      if (is_full_ && keys[i] >= bound_) continue;
      int64_t place = is_full_ ? count_ - 1 : n_++;
      for (; place > 0 && keys[i] < items_[place - 1].key(); --place)
        items_[place] = items_[place - 1];
      items_[place] = Item::of(keys[i], at + i);
      is_full_ = n_ == count_;
      bound_ = items_[n_ - 1].key();
    }
  }

  template <class Key>
  void add(const Key* keys, int64_t n, int64_t at) {
    if (n_ + n > room(count_)) cut();
    for (int64_t i = 0; i < n; ++i) {
      items_[n_] = Item::of(keys[i], at + i);
      n_ += !is_full_ | (keys[i] < bound_);
    }
  }

  void cut() {
    keep_smallest(items_, n_, count_, copy_);
    n_ = count_;
    bound_ = copy_[count_ - 1].key();
    is_full_ = true;
  }

  Item* items_;
  Item* copy_;
  const int64_t count_;
  int64_t n_ = 0;
  typename Item::Key bound_ = 0;
  bool is_full_ = false;
};

template <class T, class Item>
class TopOfRow {
 public:
  TopOfRow(Workspace* workspace, const Rows& rows, int64_t threads)
      : first_(rows.first),
        pieces_(threads <= 1 ? 1 : min(2 * threads, rows.along.size / (kFewOf * rows.first))),
        room_(2 * Candidates<Item>::room(first_)),
        candidates_(workspace->take<Item>(pieces_ * room_)),
        copy_(workspace->take<Item>(pieces_ * first_)),
        counts_(workspace->take<int64_t>(pieces_)),
        sort_(workspace, pieces_ * first_, 1) {}

  void run(const dt_stream* stream, const Row<T>& x, bool descending, const RowResult<T>& y) {
    const int64_t length = ceil_div(x.n, pieces_);
    parallel_for(stream, pieces_, x.n, [&](int64_t piece) {
      Candidates<Item> best(candidates_ + piece * room_, first_);
      best.read(x, min(x.n, piece * length), min(x.n, (piece + 1) * length), descending);
      counts_[piece] = best.finish();
    });
    Item* items = sort_.items();
    int64_t n = 0;
    for (int64_t piece = 0; piece < pieces_; ++piece) {
      const Item* from = candidates_ + piece * room_;
      for (int64_t i = 0; i < counts_[piece]; ++i) items[n++] = from[i];
    }
    if (n > first_) keep_smallest(items, n, first_, copy_);
    const bool is_sorted = pieces_ == 1 && first_ <= kInsertionSort;
    const Item* sorted = is_sorted ? items : sort_.run(stream, first_, 8 * sizeof(T));
    for (int64_t i = 0; i < first_; ++i) {
      const int64_t position = sorted[i].position();
      y.put(i, x[position], position);
    }
  }

 private:
  const int64_t first_, pieces_, room_;
  Item* candidates_;
  Item* copy_;
  int64_t* counts_;
  RadixSort<Item> sort_;
};

// ---- the kernel

// Positions share 64 bits with keys where both have room.
constexpr uint64_t kNarrow = UINT32_MAX;

// Rows of so few elements take their places by counting who is smaller.
constexpr int64_t kShortest = 8;

template <class Item>
__attribute__((noinline)) void sort_few(Item* items, int64_t n) {
  Item sorted[kShortest];
  for (int64_t i = 0; i < n; ++i) {
    int64_t place = 0;
    for (int64_t j = 0; j < n; ++j) place += items[j] < items[i];
    sorted[place] = items[i];
  }
  for (int64_t i = 0; i < n; ++i) items[i] = sorted[i];
}

template <class T>
class SortRows {
 public:
  SortRows(const dt_stream* stream, const calls::Sort& call)
      : stream_(stream),
        call_(call),
        rows_(make_rows(call.x, call.values, call.indices)),
        is_cut_(cuts_rows(stream, rows_)),
        is_few_(call.indices && is_few(rows_.first, rows_.along.size)) {}

  int64_t workspace() const { return bytes_of_worker() * (is_cut_ ? 1 : stream_->threads); }

  void run() const {
    if (is_cut_) {
      Walk at(rows_.kept, rows_.kept.n, 0);
      for (int64_t i = 0; i < rows_.count(); ++i, at.next()) sort_row(at, 0);
    } else {
      for_each_row(stream_, rows_, [&](const Walk& at, int64_t worker) { sort_row(at, worker); });
    }
  }

 private:
  static bool is_few(int64_t count, int64_t n) {
    return count * (count <= kHandful && n > kRun ? kHandfulOf : kFewOf) <= n;
  }
  int64_t threads() const { return is_cut_ ? stream_->threads : 1; }
  bool has_narrow_positions() const { return static_cast<uint64_t>(rows_.along.size) <= kNarrow; }

  // Scratch memory for whatever kind of items a row turns out to need.
  int64_t bytes_of_worker() const {
    const bool is_narrow = sizeof(T) < 8 && has_narrow_positions();
    Workspace sizes(nullptr);
    if (is_few_) {
      if (is_narrow) {
        TopOfRow<T, NarrowItem>(&sizes, rows_, threads());
      } else {
        TopOfRow<T, WideItem>(&sizes, rows_, threads());
      }
    } else if (is_narrow) {
      RowSort<T, NarrowItem>(&sizes, rows_.along.size, threads());
    } else {
      RowSort<T, WideItem>(&sizes, rows_.along.size, threads());
    }
    return sizes.bytes();
  }

  // Neither a workspace nor the range of the keys: they cost more than to sort.
  void sort_short(const Row<T>& x, const RowResult<T>& y) const {
    using Item = std::conditional_t<sizeof(T) < 8, NarrowItem, WideItem>;
    Item items[kShortest];
    const bool merges_zeros = !kIsFloating<T> || call_.indices;
    for (int64_t i = 0; i < x.n; ++i) {
      const KeyOf<T> key = merges_zeros ? key_of<true>(x[i]) : key_of<false>(x[i]);
      items[i] = Item::of(call_.descending ? static_cast<KeyOf<T>>(~key) : key, i);
    }
    sort_few(items, x.n);
    for (int64_t i = 0; i < rows_.first; ++i) {
      const int64_t position = items[i].position();
      y.put(i, x[position], position);
    }
  }

  void sort_row(const Walk& at, int64_t worker) const {
    if (rows_.along.size <= kShortest) {
      const auto x = row_at<T>(rows_, call_.x, at);
      const auto y = result_at<T>(rows_, call_.values, call_.indices, at);
      return sort_short(x, y);
    }
    Workspace memory(static_cast<char*>(call_.workspace) + worker * bytes_of_worker());
    const auto x = row_at<T>(rows_, call_.x, at);
    const auto y = result_at<T>(rows_, call_.values, call_.indices, at);
    if (is_few_) {
      if (sizeof(T) < 8 && has_narrow_positions()) {
        TopOfRow<T, NarrowItem>(&memory, rows_, threads()).run(stream_, x, call_.descending, y);
      } else {
        TopOfRow<T, WideItem>(&memory, rows_, threads()).run(stream_, x, call_.descending, y);
      }
    } else if (call_.indices) {
      sort_whole<true, NarrowItem, WideItem>(memory, x, y);
    } else {
      sort_whole<false, BareItem<uint32_t, uint32_t>, BareItem<uint64_t, uint64_t>>(memory, x, y);
    }
  }

  template <bool kMergeZeros, class Narrow, class Wide>
  void sort_whole(const Workspace& memory, const Row<T>& x, const RowResult<T>& y) const {
    const KeyRange<T> range = find_range<kMergeZeros>(x);
    const bool fits = range.bits() <= 32 || kHasPosition<Narrow>;
    if (fits && has_narrow_positions() && sort_as<Narrow>(memory, x, range, y)) return;
    sort_as<Wide>(memory, x, range, y);
  }

  template <class Item>
  bool sort_as(Workspace memory, const Row<T>& x, const KeyRange<T>& range,
               const RowResult<T>& y) const {
    return RowSort<T, Item>(&memory, x.n, threads())
        .run(stream_, x, range, call_.descending, y, rows_.first);
  }

  template <bool kMergeZeros>
  KeyRange<T> find_range(const Row<T>& x) const {
    if (!is_cut_) return range_of<kMergeZeros>(x, 0, x.n);
    KeyRange<T> parts[kMaxSlices];
    const int64_t length = ceil_div(x.n, kMaxSlices);
    parallel_for(stream_, kMaxSlices, x.n, [&](int64_t part) {
      parts[part] =
          range_of<kMergeZeros>(x, min(x.n, part * length), min(x.n, (part + 1) * length));
    });
    KeyRange<T> range = parts[0];
    for (const KeyRange<T>& part : parts) {
      range.low = min(range.low, part.low);
      range.high = max(range.high, part.high);
    }
    return range;
  }

  const dt_stream* stream_;
  const calls::Sort& call_;
  const Rows rows_;
  const bool is_cut_, is_few_;
};

int32_t plan_sort(const dt_stream* stream, const calls::Sort& call, int64_t* bytes) {
  if (count(call.values ? *call.values : *call.indices) == 0) return DT_KERNEL_OK;
  return visit_value(call.x.dtype, [&](auto type) {
    const SortRows<Stored<typename decltype(type)::type>> rows(stream, call);
    if (bytes) {
      *bytes = rows.workspace();
    } else {
      rows.run();
    }
  });
}

}  // namespace

DT_PLANNED_KERNEL(sort, Sort, plan_sort)

}  // namespace dt::cpu
