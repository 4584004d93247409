// Scans along any dimension: cumsum, cumprod, logcumsumexp. Floating sums and products are carried
// in double, integers wrap around in 64 bits.
#include "kernels/calls/reduce.gen.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/reduce_plan.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 512;
constexpr int64_t kShortLine = 64;  // elements of lines of which a tile takes many
constexpr int kTogether = 4;        // lines
constexpr int64_t kColumns = 256;
constexpr int64_t kChunk = 65536;  // elements of a long line at most that are joined on their own

// ---- what a scan does with an element: joins it to those before. Chunks are joined in the same
// way.

template <class T>
struct Addition {
  using Value = T;
  static constexpr T kNothing = 0;
  static constexpr int kCycles = 4;  // each waits for the one before
  static DT_MATH T join(T before, T x) { return before + x; }
};

template <class T>
struct Multiplication {
  using Value = T;
  static constexpr T kNothing = 1;
  static constexpr int kCycles = 4;
  static DT_MATH T join(T before, T x) { return before * x; }
};

struct LogOfSum {
  using Value = double;
  static constexpr double kNothing = -math::kInfinity;
  static constexpr int kCycles = 80;
  static __attribute__((noinline)) double join(double before, double x) {
    const double larger = math::maximum(before, x), smaller = math::minimum(before, x);
    if (larger == smaller && math::isinf(larger)) return larger;
    return larger + math::log1p(math::exp(smaller - larger));
  }
};

// The loops of a scan, as functions of tiles, so that what walks the tensors is compiled once for a
// type.
template <class Sum>
struct Loops {
  Sum nothing;
  int64_t cycles;
  Sum (*scan)(Sum* x, int64_t n, Sum sum);  // in place; returns the last one
  void (*scan_four)(Sum* a, Sum* b, Sum* c, Sum* d, Sum (&sum)[kTogether], int64_t n);
  void (*scan_short)(Sum* x, int64_t lines, int64_t n);  // in place, line after line
  Sum (*join)(const Sum* x, int64_t n, Sum sum);
  void (*join_each)(Sum* sum, const Sum* x, int64_t n);
};

template <class Fold, class Sum = typename Fold::Value>
Sum scan_tile(Sum* x, int64_t n, Sum sum) {
  for (int64_t i = 0; i < n; ++i) x[i] = sum = Fold::join(sum, x[i]);
  return sum;
}

// Four variables rather than an array, which would live in memory.
template <class Fold, class Sum = typename Fold::Value>
void scan_four(Sum* a, Sum* b, Sum* c, Sum* d, Sum (&sum)[kTogether], int64_t n) {
  Sum sum_a = sum[0], sum_b = sum[1], sum_c = sum[2], sum_d = sum[3];
  for (int64_t i = 0; i < n; ++i) {
    a[i] = sum_a = Fold::join(sum_a, a[i]);
    b[i] = sum_b = Fold::join(sum_b, b[i]);
    c[i] = sum_c = Fold::join(sum_c, c[i]);
    d[i] = sum_d = Fold::join(sum_d, d[i]);
  }
  sum[0] = sum_a, sum[1] = sum_b, sum[2] = sum_c, sum[3] = sum_d;
}

// The first elements of all lines, then the second ones: none waits for its neighbour.
template <class Fold, class Sum = typename Fold::Value>
void scan_short(Sum* x, int64_t lines, int64_t n) {
  for (int64_t k = 0; k < lines; ++k) x[k * n] = Fold::join(Fold::kNothing, x[k * n]);
  for (int64_t i = 1; i < n; ++i) {
    for (int64_t k = 0; k < lines; ++k) x[k * n + i] = Fold::join(x[k * n + i - 1], x[k * n + i]);
  }
}

// Eight at a time: none waits for its neighbour.
template <class Fold, class Sum = typename Fold::Value>
Sum join_tile(const Sum* x, int64_t n, Sum sum) {
  constexpr int kChains = 8;
  Sum chain[kChains];
  for (Sum& c : chain) c = Fold::kNothing;
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    for (int k = 0; k < kChains; ++k) chain[k] = Fold::join(chain[k], x[i + k]);
  }
  for (const Sum& c : chain) sum = Fold::join(sum, c);
  for (; i < n; ++i) sum = Fold::join(sum, x[i]);
  return sum;
}

template <class Fold, class Sum = typename Fold::Value>
void join_each(Sum* sum, const Sum* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] = Fold::join(sum[i], x[i]);
}

template <class Fold>
constexpr Loops<typename Fold::Value> loops_of = {
    Fold::kNothing,   Fold::kCycles,   scan_tile<Fold>, scan_four<Fold>,
    scan_short<Fold>, join_tile<Fold>, join_each<Fold>};

// ---- the lines

// An axis holds y's stride as x, so that axes are ordered by it, and x's as y.
struct ScanLines {
  Axes kept;
  Axis along;

  int64_t count() const { return kept.count(); }
  bool is_rows() const {
    return magnitude(along.x) < magnitude(kept.inner().x) || kept.inner().size == 1;
  }
  // Few long lines are cut into chunks, four or a multiple of that, since four are scanned at once;
  // the shape alone decides, so the bits do not depend on the threads.
  int64_t chunks() const {
    const bool cut = is_rows() && count() < 16 && along.size > kChunk;
    return cut ? ceil_div(along.size, kTogether * kChunk) * kTogether : 1;
  }
  int64_t chunk_begin(int64_t chunk) const {
    return min(along.size, chunk * ceil_div(along.size, chunks()));
  }
};

inline ScanLines make_lines(const calls::Scan& call) {
  const dt_view &y = call.y, &x = call.x;
  ScanLines lines;
  lines.along = Axis{1, 1, 1, 0};
  for (int d = 0; d < y.ndim; ++d) {
    const Axis axis{y.sizes[d], y.strides[d], x.strides[d], 0};
    if (d == call.dim) {
      lines.along = axis;
    } else if (axis.size != 1) {
      insert_by_stride(&lines.kept, axis);
    }
  }
  coalesce(&lines.kept);
  if (lines.kept.n == 0) lines.kept.axis[lines.kept.n++] = Axis{1, 1, 1, 0};
  return lines;
}

template <class Sum>
class Scan {
 public:
  Scan(const dt_stream* stream, const calls::Scan& call, const Loops<Sum>& loops)
      : stream_(stream),
        loops_(loops),
        y_(call.y),
        x_(call.x),
        lines_(make_lines(call)),
        totals_(static_cast<Sum*>(call.workspace)) {}

  void run() const {
    if (!lines_.is_rows()) return scan_columns();
    if (lines_.chunks() > 1) return scan_chunks();
    const int64_t group = max<int64_t>(1, kTile * 8 / lines_.along.size);
    parallel_for(stream_, ceil_div(lines_.count(), group), work(), [&](int64_t tile) {
      Walk at(lines_.kept, lines_.kept.n, tile * group);
      const int64_t end = min(lines_.count(), (tile + 1) * group);
      int64_t i = tile * group;
      if (lines_.along.size <= kShortLine) return scan_short_lines(i, end);
      for (; i + kTogether <= end; i += kTogether) scan_rows_together(&at);
      for (; i < end; ++i, at.next()) scan_row(at, 0, lines_.along.size, loops_.nothing);
    });
  }

 private:
  // Where a line's first elements are.
  struct Offsets {
    int64_t x, y;
  };

  int64_t work() const { return loops_.cycles * lines_.count() * lines_.along.size; }
  const char* x_at(int64_t offset) const {
    return data<const char>(x_) + offset * bytes_of(x_.dtype);
  }
  char* y_at(int64_t offset) const { return data<char>(y_) + offset * bytes_of(y_.dtype); }

  // Scans elements [begin, end) of a line on top of `sum`, which it returns.
  Sum scan_row(const Walk& line, int64_t begin, int64_t end, Sum sum) const {
    const Axis& along = lines_.along;
    Sum tile[kTile];
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = min(kTile, end - at);
      load_run(tile, x_at(line.y + at * along.y), x_.dtype, along.y, n);
      sum = loops_.scan(tile, n, sum);
      store_run(y_at(line.x + at * along.x), y_.dtype, along.x, tile, n);
    }
    return sum;
  }

  // Scans four lines, or parts of lines, at once: each sum waits for the one before it, so a single
  // line would leave the processor idle.
  void scan_together(const Offsets (&line)[kTogether], Sum (&sum)[kTogether], int64_t size) const {
    const Axis& along = lines_.along;
    // Rows are not a power of two apart: a processor takes their addresses for the same one.
    Sum tile[kTogether][kTile + 8];
    for (int64_t begin = 0; begin < size; begin += kTile) {
      const int64_t n = min(kTile, size - begin);
      for (int k = 0; k < kTogether; ++k)
        load_run(tile[k], x_at(line[k].x + begin * along.y), x_.dtype, along.y, n);
      loops_.scan_four(tile[0], tile[1], tile[2], tile[3], sum, n);
      for (int k = 0; k < kTogether; ++k)
        store_run(y_at(line[k].y + begin * along.x), y_.dtype, along.x, tile[k], n);
    }
  }

  void scan_rows_together(Walk* at) const {
    Offsets line[kTogether];
    for (Offsets& l : line) l = {at->y, at->x}, at->next();
    Sum sum[kTogether];
    for (Sum& s : sum) s = loops_.nothing;
    scan_together(line, sum, lines_.along.size);
  }

  // Reads and writes as many lines at once as fill a tile, if they lie beside each other.
  void scan_short_lines(int64_t begin, int64_t end) const {
    const Axis &along = lines_.along, &kept = lines_.kept.inner();
    const int64_t n = along.size;
    Sum tile[kTile];
    for (int64_t lines = 0; begin < end; begin += lines) {
      lines = min(min(kTile / n, end - begin), kept.size - begin % kept.size);
      const Walk at(lines_.kept, lines_.kept.n, begin);
      for_each_run(along.y, kept.y, lines, [&](int64_t line, int64_t count) {
        load_run(tile + line * n, x_at(at.y + line * kept.y), x_.dtype, along.y, count);
      });
      loops_.scan_short(tile, lines, n);
      for_each_run(along.x, kept.x, lines, [&](int64_t line, int64_t count) {
        store_run(y_at(at.x + line * kept.x), y_.dtype, along.x, tile + line * n, count);
      });
    }
  }

  // Calls run(first line, elements): once if the lines follow each other, else for each of them.
  template <class Run>
  void for_each_run(int64_t stride, int64_t line_stride, int64_t lines, const Run& run) const {
    const int64_t n = lines_.along.size;
    if (line_stride == stride * n) return run(0, lines * n);
    for (int64_t line = 0; line < lines; ++line) run(line, n);
  }

  Sum join_row(const Walk& line, int64_t begin, int64_t end) const {
    Sum tile[kTile], sum = loops_.nothing;
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = min(kTile, end - at);
      load_run(tile, x_at(line.y + at * lines_.along.y), x_.dtype, lines_.along.y, n);
      sum = loops_.join(tile, n, sum);
    }
    return sum;
  }

  // Each chunk's total first, then each chunk on top of the totals before it.
  void scan_chunks() const {
    const int64_t chunks = lines_.chunks(), tiles = chunks * lines_.count();
    const auto line_of = [&](int64_t i) { return Walk(lines_.kept, lines_.kept.n, i); };
    parallel_for(stream_, tiles, work(), [&](int64_t tile) {
      const int64_t chunk = tile % chunks;
      totals_[tile] = join_row(line_of(tile / chunks), lines_.chunk_begin(chunk),
                               lines_.chunk_begin(chunk + 1));
    });
    for (int64_t line = 0; line < tiles; line += chunks) {
      Sum before = loops_.nothing;
      for (int64_t tile = line; tile < line + chunks; ++tile) {
        const Sum total = totals_[tile];
        totals_[tile] = before;
        before = loops_.join(&total, 1, before);
      }
    }
    parallel_for(stream_, tiles / kTogether, work(), [&](int64_t group) {
      const int64_t tile = group * kTogether;
      scan_four_chunks(line_of(tile / chunks), totals_ + tile, tile % chunks);
    });
  }

  // Together as far as the shortest goes, which is the last one.
  void scan_four_chunks(const Walk& line, const Sum* totals, int64_t first) const {
    Offsets chunk[kTogether];
    Sum sum[kTogether];
    for (int k = 0; k < kTogether; ++k) {
      const int64_t begin = lines_.chunk_begin(first + k);
      chunk[k] = {line.y + begin * lines_.along.y, line.x + begin * lines_.along.x};
      sum[k] = totals[k];
    }
    const int64_t last = first + kTogether - 1;
    const int64_t common = lines_.chunk_begin(last + 1) - lines_.chunk_begin(last);
    scan_together(chunk, sum, common);
    for (int k = 0; k < kTogether; ++k) {
      scan_row(line, lines_.chunk_begin(first + k) + common, lines_.chunk_begin(first + k + 1),
               sum[k]);
    }
  }

  // Lines side by side: vectors across them.
  void scan_columns() const {
    const Axis &inner = lines_.kept.inner(), &along = lines_.along;
    const int64_t per_line = ceil_div(inner.size, kColumns);
    parallel_for(stream_, lines_.count() / inner.size * per_line, work(), [&](int64_t block) {
      const Walk outer(lines_.kept, lines_.kept.n - 1, block / per_line);
      const int64_t first = block % per_line * kColumns, width = min(kColumns, inner.size - first);
      Sum sum[kColumns], row[kColumns];
      for (Sum& s : sum) s = loops_.nothing;
      for (int64_t r = 0; r < along.size; ++r) {
        load_run(row, x_at(outer.y + first * inner.y + r * along.y), x_.dtype, inner.y, width);
        loops_.join_each(sum, row, width);
        store_run(y_at(outer.x + first * inner.x + r * along.x), y_.dtype, inner.x, sum, width);
      }
    });
  }

  const dt_stream* stream_;
  const Loops<Sum>& loops_;
  const dt_view& y_;
  const dt_view& x_;
  const ScanLines lines_;
  Sum* totals_;
};

template <class Sum>
int32_t scan(const dt_stream* stream, const calls::Scan& call, const Loops<Sum>& loops) {
  if (count(call.x) > 0) Scan<Sum>(stream, call, loops).run();
  return DT_KERNEL_OK;
}

int64_t workspace(const calls::Scan& call) {
  if (count(call.x) == 0) return 0;
  const ScanLines lines = make_lines(call);
  static_assert(sizeof(double) == sizeof(uint64_t), "one size for all kinds of sums");
  return lines.chunks() > 1 ? lines.chunks() * lines.count() * static_cast<int64_t>(sizeof(double))
                            : 0;
}

}  // namespace

int32_t kernels::cumsum(const dt_stream* stream, const calls::Scan& call) {
  return is_floating(call.compute) ? scan(stream, call, loops_of<Addition<double>>)
                                   : scan(stream, call, loops_of<Addition<uint64_t>>);
}

int32_t kernels::cumprod(const dt_stream* stream, const calls::Scan& call) {
  return is_floating(call.compute) ? scan(stream, call, loops_of<Multiplication<double>>)
                                   : scan(stream, call, loops_of<Multiplication<uint64_t>>);
}

int32_t kernels::logcumsumexp(const dt_stream* stream, const calls::Scan& call) {
  return scan(stream, call, loops_of<LogOfSum>);
}

int64_t kernels::cumsum_workspace(const dt_stream*, const calls::Scan& call) {
  return workspace(call);
}
int64_t kernels::cumprod_workspace(const dt_stream*, const calls::Scan& call) {
  return workspace(call);
}
int64_t kernels::logcumsumexp_workspace(const dt_stream*, const calls::Scan& call) {
  return workspace(call);
}

}  // namespace dt::cpu
