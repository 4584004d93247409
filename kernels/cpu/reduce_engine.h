// The engine of all reductions to values: an operation says how states combine, a job what happens
// before and after, a plan in which pieces. Partial results are combined pairwise, so that rounding
// errors grow with the logarithm of the length; reduce_plan.h says why the bits never depend on the
// threads.
#pragma once

#include "kernels/cpu/convert.h"
#include "kernels/cpu/reduce_halves.h"
#include "kernels/cpu/reduce_narrow.h"
#include "kernels/cpu/reduce_operations.h"
#include "kernels/cpu/reduce_plan.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

// ---- what surrounds the operation

enum class Map { kNone, kNonzero, kAbs, kSquare, kPower };  // applied to each element
enum class Finish { kNone, kMean, kVariance, kDeviation, kSquareRoot, kRoot };  // to each result

struct Job {
  Map map = Map::kNone;
  Finish finish = Finish::kNone;
  double power = 0;       // norm's p
  double correction = 0;  // var's
  double empty = 0;       // the result of reducing nothing
  int64_t length = 0;     // elements of each output, where the engine does not see them all
};

// The usual norm in one pass instead of two.
inline void load_squares(double* y, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<double>(x[i]) * static_cast<double>(x[i]);
}

// Floats of 16 bits have no way to doubles that is vector code but by floats.
DT_NOINLINE inline void load_half_squares(double* y, const char* x, int32_t dtype, int64_t n) {
  constexpr int64_t kSome = 256;
  float some[kSome];
  for (int64_t i = 0; i < n; i += kSome) {
    load_run(some, x + i * bytes_of(dtype), dtype, 1, min(kSome, n - i));
    load_squares(y + i, some, min(kSome, n - i));
  }
}

// Only norms change elements; they are accumulated in double.
inline void apply_map(const Job& job, double* x, int64_t n) {
  switch (job.map) {
    case Map::kNone:
    case Map::kNonzero:  // has happened while loading, before a conversion could lose it
      return;
    case Map::kAbs:
      for (int64_t i = 0; i < n; ++i) x[i] = math::abs(x[i]);
      return;
    case Map::kSquare:
      for (int64_t i = 0; i < n; ++i) x[i] = x[i] * x[i];
      return;
    case Map::kPower:
      for (int64_t i = 0; i < n; ++i) x[i] = math::pow(math::abs(x[i]), job.power);
      return;
  }
}

// Finishes `width` states in place: the results are the first part. What is neither a sum nor a
// mean is accumulated in double.
template <class T>
void apply_finish(const Job& job, int64_t length, T* state, int64_t width) {
  if constexpr (kIsFloating<T>) {
    const double n = static_cast<double>(length);
    const T divisor =
        static_cast<T>(job.finish == Finish::kMean ? n : max(0.0, n - job.correction));
    const auto for_each = [=](const auto& result) {
      for (int64_t j = 0; j < width; ++j) state[j] = result(state[j], state + width + j);
    };
    if (job.finish == Finish::kMean)
      return for_each([=](T sum, const T*) { return sum / divisor; });
    if constexpr (std::is_same_v<T, double>) {
      if (job.finish == Finish::kVariance)
        return for_each([=](T, const T* squares) { return *squares / divisor; });
      if (job.finish == Finish::kDeviation)
        return for_each([=](T, const T* squares) { return math::sqrt(*squares / divisor); });
      if (job.finish == Finish::kSquareRoot)
        return for_each([](T sum, const T*) { return math::sqrt(sum); });
      if (job.finish == Finish::kRoot)
        return for_each([&](T sum, const T*) { return math::pow(sum, 1.0 / job.power); });
    }
  }
}

// ---- the engine

// Combines states that arrive one after the other pairwise: like a binary counter, two states of
// 2^k leaves each become one of 2^(k+1). Beyond kLevels the largest states are added up in order.
template <class Op, int64_t kWidth>
class Pairwise {
 public:
  using T = typename Op::T;

  explicit Pairwise(int64_t width) : width_(width) {}

  // Where the next leaf is to be written.
  T* next() { return state_[depth_]; }

  void push(int64_t length) {
    length_[depth_++] = length;
    for (int64_t carry = leaves_++; carry & 1; carry >>= 1) merge_top();
    if (depth_ == kLevels) merge_top();
  }

  // The combination of all leaves.
  T* result() {
    while (depth_ > 1) merge_top();
    return state_[0];
  }

 private:
  static constexpr int kLevels = 12;

  void merge_top() {
    if (depth_ < 2) return;
    const int into = depth_ - 2, from = depth_ - 1;
    Op::merge(state_[into], length_[into], state_[from], length_[from], width_);
    length_[into] += length_[from];
    --depth_;
  }

  int64_t width_, leaves_ = 0, length_[kLevels];
  int depth_ = 0;
  T state_[kLevels][Op::kParts * kWidth];
};

// What every kind of reduction works on.
struct ReduceOperands {
  const dt_view &x, &y;
  void* workspace;
};

// How much scratch memory an engine needs whose states have `parts` values of some bytes.
inline int64_t reduce_workspace(const ReduceOperands& on, int32_t parts, int64_t value_bytes) {
  const ReducePlan p = make_plan(on.x, on.y, nullptr, value_bytes, parts == 1);
  return p.chunks == 1 ? 0 : p.chunks * p.blocks * p.width * parts * value_bytes;
}

template <class Op>
class ReduceEngine {
 public:
  using T = typename Op::T;
  static constexpr int64_t kColumns = ReducePlan::kColumnBytes / sizeof(T);
  static constexpr bool kSums = kIsFloating<T> && std::is_same_v<Op, Fold<Sum<T>>>;
  // What is larger is not expected to be in a cache.
  static constexpr int64_t kCacheBytes = int64_t{8} << 20;
  static constexpr bool kAddsDoubles = std::is_same_v<Op, Fold<Sum<double>>>;
  static constexpr bool kAddsFloats = kAddsHalves && std::is_same_v<Op, Fold<Sum<float>>>;
  // Extrema of integers up to 32 bits: narrow ones are compared as they are.
  static constexpr bool kChoosesIntegers = std::is_same_v<T, int32_t>;

  ReduceEngine(const dt_stream* stream, const ReduceOperands& on, const Job& job)
      : stream_(stream),
        x_(on.x),
        y_(on.y),
        job_(job),
        plan_(make_plan(on.x, on.y, nullptr, sizeof(T), Op::kParts == 1)),
        is_far_(plan_.elements_in_memory() * bytes_of(x_.dtype) > kCacheBytes),
        is_native_(holds<T>(x_.dtype) && job.map == Map::kNone),
        squares_floats_(squares<float>()),
        squares_doubles_(squares<double>()),
        adds_halves_((kAddsFloats || squares_halves()) && is_narrow_float(x_.dtype)),
        partial_(static_cast<T*>(on.workspace)) {
    if constexpr (kChoosesIntegers)
      narrow_ = narrow_choice<typename Op::Operation>(x_.dtype, job.map == Map::kNonzero);
  }

  void run() const {
    if (plan_.chunks > 1) {
      parallel_for(stream_, plan_.blocks * plan_.chunks, plan_.work(),
                   [&](int64_t tile) { reduce_chunk(tile); });
      parallel_for(stream_, plan_.blocks, plan_.chunks * plan_.outputs,
                   [&](int64_t block) { combine(block); });
      return;
    }
    const int64_t group = max<int64_t>(1, ReducePlan::kTile * 16 / (plan_.width * plan_.length));
    parallel_for(stream_, ceil_div(plan_.blocks, group), plan_.work(), [&](int64_t tile) {
      reduce_blocks(tile * group, min(plan_.blocks, (tile + 1) * group));
    });
  }

 private:
  T* partial(int64_t block, int64_t chunk) const {
    return partial_ + (block * plan_.chunks + chunk) * Op::kParts * plan_.width;
  }
  const char* x_at(int64_t offset) const {
    return data<const char>(x_) + offset * bytes_of(x_.dtype);
  }
  char* y_at(int64_t offset) const { return data<char>(y_) + offset * bytes_of(y_.dtype); }

  void load(T* to, int64_t offset, int64_t stride, int64_t n) const {
    load(to, x_at(offset), stride, n);
  }
  // n elements of x's dtype.
  DT_NOINLINE void load(T* to, const char* x, int64_t stride, int64_t n) const {
    if (job_.map == Map::kNonzero) return load_truth(to, x, x_.dtype, stride, n);
    if constexpr (std::is_same_v<T, double>) {
      if (job_.map == Map::kSquare && holds<float>(x_.dtype) && stride == 1)
        return load_squares(to, reinterpret_cast<const float*>(x), n);
      if (job_.map == Map::kSquare && is_narrow_float(x_.dtype) && stride == 1)
        return load_half_squares(to, x, x_.dtype, n);
    }
    load_run(to, x, x_.dtype, stride, n);
    if constexpr (std::is_same_v<T, double>) apply_map(job_, to, n);
  }

  DT_NOINLINE void reduce_blocks(int64_t begin, int64_t end) const {
    for (int64_t block = begin; block < end; ++block)
      plan_.columns ? reduce_columns(block) : reduce_rows_of(block);
  }

  // ---- pieces of large reductions

  DT_NOINLINE void reduce_chunk(int64_t tile) const {
    const int64_t block = tile / plan_.chunks, chunk = tile % plan_.chunks;
    const int64_t begin = chunk * plan_.chunk_length,
                  end = min(plan_.length, begin + plan_.chunk_length);
    T* state = partial(block, chunk);
    if (plan_.columns) {
      const Columns columns = columns_of(block);
      Pairwise<Op, kColumns> sums(plan_.fold * columns.width);
      copy_state(state, reduce_columns(columns, begin, end, &sums), columns.width);
    } else {
      Pairwise<Op, 1> sums(1);
      copy_state(state, reduce_stream(Walk(plan_.kept, plan_.kept.n, block).x, begin, end, &sums),
                 1);
    }
  }

  static void copy_state(T* to, const T* from, int64_t width) {
    __builtin_memcpy(to, from, static_cast<size_t>(Op::kParts * width) * sizeof(T));
  }

  DT_NOINLINE void combine(int64_t block) const {
    const Columns columns =
        plan_.columns ? columns_of(block) : Columns{0, Walk(plan_.kept, plan_.kept.n, block).y, 1};
    auto length_from = [&](int64_t chunk, int64_t chunks) {
      return min(plan_.length, (chunk + chunks) * plan_.chunk_length) - chunk * plan_.chunk_length;
    };
    for (int64_t step = 1; step < plan_.chunks; step *= 2) {
      for (int64_t c = 0; c + step < plan_.chunks; c += 2 * step) {
        Op::merge(partial(block, c), length_from(c, step), partial(block, c + step),
                  length_from(c + step, step), columns.width);
      }
    }
    finish(partial(block, 0), columns.width, columns.y);
  }

  void finish(T* state, int64_t width, int64_t y) const {
    apply_finish(job_, job_.length > 0 ? job_.length : plan_.length, state, width);
    store_run(y_at(y), y_.dtype, plan_.kept_inner().y, state, width);
  }

  // ---- rows: one output at a time

  template <class From>
  bool squares() const {
    return kAddsDoubles && job_.map == Map::kSquare && holds<From>(x_.dtype);
  }
  bool squares_halves() const { return kAddsHalves && kAddsDoubles && job_.map == Map::kSquare; }
  // Whether an output's elements are one run, which is reduced at once: a tile or, of sums, a few.
  bool has_short_rows() const {
    constexpr int64_t kTile = ReducePlan::kTile, kFew = 8 * kTile;
    if (plan_.reduced.n > 1 || plan_.length > kFew) return false;
    const bool in_place = is_native_ && plan_.reduced.inner().x == 1;
    return plan_.length <= kTile || (kSums && in_place);
  }
  bool is_read_in_place() const {
    return is_native_ || squares_floats_ || squares_doubles_ || narrow_.spans != nullptr ||
           (adds_halves_ && sums_in_place<T>(plan_.length));
  }

  // Calls add(x) with elements of 16 bits as what they are.
  template <class Add>
  void add_halves(int64_t offset, const Add& add) const {
    const char* x = x_at(offset);
    holds<Float16>(x_.dtype) ? add(reinterpret_cast<const Float16*>(x))
                             : add(reinterpret_cast<const BFloat16*>(x));
  }

  // Makes the states of `rows` runs of n elements in place.
  void add_dense(T* state, int64_t offset, int64_t row_stride, int64_t rows, int64_t n) const {
    if constexpr (kAddsDoubles) {
      const auto square = [](auto v) { return v * v; };
      const char* x = x_at(offset);
      if (squares_floats_)
        return Op::add_spans(state, reinterpret_cast<const float*>(x), row_stride, rows, n, is_far_,
                             square);
      if (squares_doubles_)
        return Op::add_spans(state, reinterpret_cast<const T*>(x), row_stride, rows, n, is_far_,
                             square);
      if constexpr (kAddsHalves) {
        if (adds_halves_)
          return add_halves(offset,
                            [=](auto* h) { add_half_squares(state, h, row_stride, rows, n); });
      }
    }
    if constexpr (kAddsFloats) {
      if (adds_halves_)
        return add_halves(offset, [=](auto* x) { add_half_spans(state, x, row_stride, rows, n); });
    }
    if constexpr (kChoosesIntegers) {
      if (narrow_.spans) {
        char few[kColumns * sizeof(int16_t)];
        narrow_.spans(few, x_at(offset), row_stride, rows, n);
        return load(state, few, 1, rows);
      }
    }
    const T* const x = reinterpret_cast<const T*>(x_at(offset));
    if constexpr (kSums) {
      if (n > ReducePlan::kTile)
        return sum_pieces(state, x, row_stride, rows, n, ReducePlan::kTile);
    }
    Op::add_spans(state, x, row_stride, rows, n, is_far_);
  }

  void reduce_rows_of(int64_t block) const {
    const int64_t begin = block * plan_.width, end = min(plan_.outputs, begin + plan_.width);
    if (has_short_rows()) return reduce_short_rows(begin, end);
    Walk at(plan_.kept, plan_.kept.n, begin);
    for (int64_t i = begin; i < end; ++i, at.next()) {
      Pairwise<Op, 1> sums(1);
      finish(reduce_stream(at.x, 0, plan_.length, &sums), 1, at.y);
    }
  }

  // Each row is one leaf. Rows at equal distances are reduced and finished together.
  void reduce_short_rows(int64_t begin, int64_t end) const {
    constexpr int64_t kTogether = 64;
    const Axis kept = plan_.kept_inner();
    T state[Op::kParts * kTogether];
    while (begin < end) {
      const Walk at(plan_.kept, plan_.kept.n, begin);
      int64_t rows = min(min(kTogether, end - begin), kept.size - begin % kept.size);
      if (is_read_in_place() && plan_.reduced.inner().x == 1) {
        add_dense(state, at.x, kept.x, rows, plan_.length);
      } else {
        rows = add_loaded(state, at.x, kept.x, rows);
      }
      finish(state, rows, at.y);
      begin += rows;
    }
  }

  // The same by way of a tile, for as many of the rows as it holds: the result says how many.
  int64_t add_loaded(T* state, int64_t offset, int64_t row_stride, int64_t rows) const {
    const int64_t n = plan_.length, stride = plan_.reduced.inner().x;
    T tile[ReducePlan::kTile];
    rows = min(rows, ReducePlan::kTile / n);
    if (row_stride == n * stride) {
      load(tile, offset, stride, rows * n);
    } else {
      for (int64_t r = 0; r < rows; ++r) load(tile + r * n, offset + r * row_stride, stride, n);
    }
    Op::add_spans(state, tile, n, rows, n, false);
    return rows;
  }

  // Reduces elements [begin, end) of the output whose first element is at x.
  T* reduce_stream(int64_t x, int64_t begin, int64_t end, Pairwise<Op, 1>* sums) const {
    const Axis& inner = plan_.reduced.inner();
    const bool is_dense = is_read_in_place() && inner.x == 1;
    Walk outer(plan_.reduced, plan_.reduced.n - 1, begin / inner.size);
    int64_t at = begin % inner.size;
    while (begin < end) {
      const int64_t run = min(inner.size - at, end - begin);
      if (is_dense && (run >= 256 || inner.size > ReducePlan::kTile)) {
        add_long_run(x + outer.x + at * inner.x, run, sums);
        begin += run, at += run;
        if (at == inner.size) at = 0, outer.next();
      } else {
        begin += add_gathered(x, end - begin, &outer, &at, sums);
      }
    }
    return sums->result();
  }

  // Tiles where they lie, several at once: what is done at the end of each is done side by side.
  void add_long_run(int64_t offset, int64_t run, Pairwise<Op, 1>* sums) const {
    constexpr int64_t kTogether = Op::kParts == 1 ? 8 : 1;  // others read each tile twice
    T state[Op::kParts * kTogether];
    for (int64_t n, tiles; run > 0; run -= tiles * n, offset += tiles * n) {
      n = min(run, ReducePlan::kTile);
      tiles = min(run / n, kTogether);
      add_dense(state, offset, n, tiles, n);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        copy_state(sums->next(), state + Op::kParts * tile, 1);
        sums->push(n);
      }
    }
  }

  // Collects up to kTile elements from short or strided runs, or of another dtype, and reduces
  // them.
  int64_t add_gathered(int64_t x, int64_t limit, Walk* outer, int64_t* at,
                       Pairwise<Op, 1>* sums) const {
    const Axis& inner = plan_.reduced.inner();
    T tile[ReducePlan::kTile];
    int64_t filled = 0;
    limit = min(limit, ReducePlan::kTile);
    while (filled < limit) {
      const int64_t n = min(inner.size - *at, limit - filled);
      load(tile + filled, x + outer->x + *at * inner.x, inner.x, n);
      filled += n;
      *at += n;
      if (*at == inner.size) *at = 0, outer->next();
    }
    Op::add_spans(sums->next(), tile, 0, 1, filled, false);
    sums->push(filled);
    return filled;
  }

  // ---- columns: a block of outputs side by side

  struct Columns {
    int64_t x, y, width;
  };

  Columns columns_of(int64_t block) const {
    const Axis& inner = plan_.kept.inner();
    const int64_t per_line = ceil_div(inner.size, plan_.width);
    const Walk outer(plan_.kept, plan_.kept.n - 1, block / per_line);
    const int64_t first = block % per_line * plan_.width;
    return {outer.x + first * inner.x, outer.y + first * inner.y,
            min(plan_.width, inner.size - first)};
  }

  void reduce_columns(int64_t block) const {
    const Columns columns = columns_of(block);
    Pairwise<Op, kColumns> sums(plan_.fold * columns.width);
    finish(reduce_columns(columns, 0, plan_.length, &sums), columns.width, columns.y);
  }

  // Reduces positions [begin, end) of the reduced axes into a block of columns.
  T* reduce_columns(const Columns& columns, int64_t begin, int64_t end,
                    Pairwise<Op, kColumns>* sums) const {
    const Axis& inner = plan_.reduced.inner();
    Walk outer(plan_.reduced, plan_.reduced.n - 1, begin / inner.size);
    int64_t at = begin % inner.size;
    while (begin < end) {
      T* state = sums->next();
      Op::clear(state, plan_.fold * columns.width);
      const int64_t leaf = min(end - begin, plan_.leaf_rows());
      for (int64_t seen = 0; seen < leaf;) {
        const int64_t rows = min(inner.size - at, leaf - seen);
        add_run(state, columns, columns.x + outer.x + at * inner.x, inner.x, rows, seen);
        seen += rows;
        at += rows;
        if (at == inner.size) at = 0, outer.next();
      }
      sums->push(leaf);
      begin += leaf;
    }
    T* const state = sums->result();
    unfold(state, columns.width);
    return state;
  }

  // Adds rows at equal distances. Dense short rows are taken `fold` at a time, as one long row.
  void add_run(T* state, const Columns& columns, int64_t offset, int64_t row_stride, int64_t rows,
               int64_t seen) const {
    if (plan_.fold == 1) return add_rows(state, columns.width, offset, row_stride, rows, seen);
    const int64_t wide = plan_.fold * columns.width, full = rows / plan_.fold;
    add_rows(state, wide, offset, wide, full, 0);
    const int64_t rest = rows * columns.width - full * wide;
    if (rest > 0) add_rows(state, rest, offset + full * wide, 0, 1, 0);
  }

  void add_rows(T* state, int64_t width, int64_t offset, int64_t row_stride, int64_t rows,
                int64_t seen) const {
    const int64_t stride = plan_.kept.inner().x;
    if (is_native_ && stride == 1) {
      Op::add_rows(state, width, reinterpret_cast<const T*>(x_at(offset)), row_stride, rows, seen,
                   is_far_);
      return;
    }
    if constexpr (kAddsFloats) {
      if (adds_halves_ && stride == 1)
        return add_halves(
            offset, [=](auto* x) { add_half_rows(state, x, row_stride, rows, width, is_far_); });
    }
    T row[kColumns];
    if constexpr (kChoosesIntegers) {
      if (narrow_.rows && stride == 1) {
        char best[kColumns * sizeof(int16_t)];
        narrow_.rows(best, x_at(offset), row_stride, rows, width);
        load(row, best, 1, width);
        return Op::add_rows(state, width, row, 0, 1, seen, false);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      load(row, offset + r * row_stride, stride, width);
      Op::add_rows(state, width, row, 0, 1, seen + r, false);
    }
  }

  // Combines the parts of a folded row, the upper half into the lower one until one is left.
  void unfold(T* state, int64_t width) const {
    for (int64_t parts = plan_.fold; parts > 1;) {
      const int64_t half = parts / 2;
      parts -= half;
      Op::merge(state, 0, state + parts * width, 0, half * width);
    }
  }

  const dt_stream* stream_;
  const dt_view& x_;
  const dt_view& y_;
  const Job& job_;
  const ReducePlan plan_;
  const bool is_far_;
  const bool is_native_;                         // elements can be used where they are
  const bool squares_floats_, squares_doubles_;  // so can those whose squares are added up
  const bool adds_halves_;                       // so can floats of 16 bits
  NarrowChoice narrow_;                          // so can integers of 8 and 16 bits
  T* partial_;
};

}  // namespace
}  // namespace dt::cpu
