// Scans along any dimension: cumsum, cumprod, logcumsumexp. Floating sums and products are carried
// in double, integers wrap around in 64 bits.
#include "kernels/calls/reduce.gen.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/reduce_plan.h"
#include "kernels/cpu/simd.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 512;
constexpr int64_t kColumns = 256;
constexpr int64_t kChunk = 65536;  // elements of a long line at least that are joined on their own

// ---- what a scan does with an element: joins it to those before. Chunks are joined in the same
// way.

template <class T>
struct Addition {
  using Value = T;
  static constexpr T kNothing = 0;
  static constexpr int kCycles = 3;
  template <class V>
  static DT_MATH V join(V before, V x) {
    return before + x;
  }
};

template <class T>
struct Multiplication {
  using Value = T;
  static constexpr T kNothing = 1;
  static constexpr int kCycles = 3;
  template <class V>
  static DT_MATH V join(V before, V x) {
    return before * x;
  }
};

struct LogOfSum {
  using Value = double;
  static constexpr double kNothing = -math::kInfinity;
  static constexpr int kCycles = 20;
  static DT_MATH double join(double before, double x) {
    const double larger = math::maximum(before, x), smaller = math::minimum(before, x);
    const double both = larger + math::log1p(math::exp(smaller - larger));
    return larger == smaller && math::isinf(larger) ? larger : both;
  }
};

// Lines of n elements at equal distances, from x to y, which may be the same.
template <class Element>
struct EvenLines {
  Element* y;
  const Element* x;
  int64_t y_stride, x_stride, count, n;
};

// The loops of a scan, as functions of lines, so that what walks the tensors is compiled once for a
// type. Each line begins with `sum`; the result is the sum of a line that is the only one.
template <class Sum>
struct Loops {
  Sum nothing;
  int64_t cycles;
  Sum (*scan)(const EvenLines<Sum>& lines, Sum sum);
  Sum (*scan_floats)(const EvenLines<float>& lines, Sum sum);  // may be absent
  Sum (*join)(const Sum* x, int64_t n, Sum sum);
  void (*scan_columns)(Sum* x, Sum* sum, int64_t width, int64_t rows);
};

// Where lane `lane` comes from when lanes move up by `distance`: in the place of those below the
// first come those of a second vector, which holds nothing.
template <class T>
constexpr int64_t lane_below(int64_t lane, int64_t distance) {
  return lane < distance ? kVectorBytes / static_cast<int64_t>(sizeof(T)) : lane - distance;
}

template <class Fold, int kDistance, class T, size_t... kLane>
DT_MATH Vector<T> scan_lanes(Vector<T> v, std::index_sequence<kLane...> lanes) {
  if constexpr (kDistance < static_cast<int>(sizeof...(kLane))) {
    const Vector<T> nothing = splat(Fold::kNothing);
    const Vector<T> below = __builtin_shufflevector(v, nothing, lane_below<T>(kLane, kDistance)...);
    return scan_lanes<Fold, 2 * kDistance, T>(Fold::join(below, v), lanes);
  } else {
    return v;
  }
}

constexpr int64_t kBeside = 4;

// Scans elements [i, n) of kLines lines, each on top of its sum.
template <class Fold, int64_t kLines, class Element, class Sum = typename Fold::Value>
void scan_one_by_one(const EvenLines<Element>& at, int64_t i, Sum (&last)[kLines]) {
  for (; i < at.n; ++i) {
    DT_UNROLL
    for (int64_t k = 0; k < kLines; ++k) {
      last[k] = Fold::join(last[k], static_cast<Sum>(at.x[k * at.x_stride + i]));
      at.y[k * at.y_stride + i] = static_cast<Element>(last[k]);
    }
  }
}

// The same of the first elements of kBeside lines, as many as make blocks: the result says how
// many.
template <class Fold>
int64_t scan_blocks(const EvenLines<float>& at, double (&last)[kBeside]) {
  constexpr int64_t kWidth = min<int64_t>(kBeside, kVectorBytes / sizeof(double));
  constexpr int64_t kParts = kBeside / kWidth;
  typedef double Sums __attribute__((vector_size(kWidth * sizeof(double))));
  typedef float Floats __attribute__((vector_size(kWidth * sizeof(float))));
  int64_t i = 0;
  Sums before[kParts];
  __builtin_memcpy(before, last, sizeof(last));
  for (; i + kBeside <= at.n; i += kBeside) {
    Quad block[kBeside];
    DT_UNROLL
    for (int64_t k = 0; k < kBeside; ++k)
      __builtin_memcpy(&block[k], at.x + k * at.x_stride + i, sizeof(Quad));
    transpose(block);
    DT_UNROLL
    for (int64_t k = 0; k < kBeside; ++k) {
      Floats part[kParts];
      __builtin_memcpy(part, &block[k], sizeof(Quad));
      DT_UNROLL
      for (int64_t p = 0; p < kParts; ++p) {
        before[p] = Fold::join(before[p], convert_lanes<Sums>(part[p]));
        part[p] = convert_lanes<Floats>(before[p]);
      }
      __builtin_memcpy(&block[k], part, sizeof(Quad));
    }
    transpose(block);
    DT_UNROLL
    for (int64_t k = 0; k < kBeside; ++k)
      __builtin_memcpy(at.y + k * at.y_stride + i, &block[k], sizeof(Quad));
  }
  __builtin_memcpy(last, before, sizeof(last));
  return i;
}

// Some lines beside each other: none waits for its neighbour.
template <class Fold, class Element, class Sum = typename Fold::Value>
void scan_beside(EvenLines<Element> at, Sum sum) {
  for (; at.count >= kBeside; at.count -= kBeside) {
    Sum last[kBeside] = {sum, sum, sum, sum};
    int64_t i = 0;
    if constexpr (std::is_same_v<Element, float>) {
      if (at.n >= kBeside) i = scan_blocks<Fold>(at, last);
    }
    scan_one_by_one<Fold>(at, i, last);
    at.x += kBeside * at.x_stride;
    at.y += kBeside * at.y_stride;
  }
  for (; at.count > 0; --at.count, at.x += at.x_stride, at.y += at.y_stride) {
    Sum last[1] = {sum};
    scan_one_by_one<Fold>(at, 0, last);
  }
}

// Scans a vector at a time: only its last lane waits for the vector before. Less than a vector is
// scanned one by one.
template <class Fold, class Element, class Sum = typename Fold::Value>
Sum scan_line(Element* y, const Element* x, int64_t n, Sum sum) {
  constexpr int kWidth = kVectorBytes / sizeof(Sum);
  constexpr std::make_index_sequence<kWidth> kAll;
  typedef Element Narrow __attribute__((vector_size(kWidth * sizeof(Element))));
  int64_t i = 0;
  Vector<Sum> before = splat(sum);
  for (; i + kWidth <= n; i += kWidth) {
    const Vector<Sum> v = scan_lanes<Fold, 1, Sum>(load_as<Sum>(x + i), kAll);
    const Narrow stored = convert_lanes<Narrow>(Fold::join(before, v));
    before = Fold::join(before, splat<Sum>(v[kWidth - 1]));
    __builtin_memcpy(y + i, &stored, sizeof(stored));
  }
  Sum last = before[0];
  for (; i < n; ++i) {
    last = Fold::join(last, static_cast<Sum>(x[i]));
    y[i] = static_cast<Element>(last);
  }
  return last;
}

template <class Fold, class Element, class Sum = typename Fold::Value>
Sum scan_lines(const EvenLines<Element>& lines, Sum sum) {
  if (lines.count == 1) return scan_line<Fold>(lines.y, lines.x, lines.n, sum);
  scan_beside<Fold>(lines, sum);
  return sum;
}

constexpr int64_t kLogs = 64;  // elements at most whose logarithms are taken together

// Beside the largest of some numbers, one that is less by so much is nothing, and its exponential
// nearly 0.
constexpr double kFarBelow = 700;

// Scans n <= kLogs numbers as the logarithms of sums of exponentials. False if they lie so far
// apart, or are so large, that sums must be joined one by one.
bool scan_logs_together(double* y, const double* x, int64_t n, double sum) {
  double largest = sum, smallest = sum == LogOfSum::kNothing ? math::kInfinity : sum;
  for (int64_t i = 0; i < n; ++i) {
    largest = math::maximum(largest, x[i]);
    smallest = math::minimum(smallest, x[i]);
  }
  if (!(largest - smallest <= kFarBelow && math::isfinite(largest))) return false;
  double scaled[kLogs];
  for (int64_t i = 0; i < n; ++i) scaled[i] = math::exp(x[i] - largest);
  scan_lines<Addition<double>>(EvenLines<double>{scaled, scaled, 0, 0, 1, n},
                               math::exp(sum - largest));
  for (int64_t i = 0; i < n; ++i) y[i] = largest + math::log(scaled[i]);
  return true;
}

double scan_logs(const EvenLines<double>& lines, double sum) {
  double last = sum;
  for (int64_t line = 0; line < lines.count; ++line) {
    double* y = lines.y + line * lines.y_stride;
    const double* x = lines.x + line * lines.x_stride;
    last = sum;
    for (int64_t i = 0, n; i < lines.n; i += n) {
      n = min(kLogs, lines.n - i);
      if (!scan_logs_together(y + i, x + i, n, last)) {
        for (int64_t k = i; k < i + n; ++k) y[k] = last = LogOfSum::join(last, x[k]);
      }
      last = y[i + n - 1];
    }
  }
  return last;
}

// n <= kTile elements.
double join_logs(const double* x, int64_t n, double sum) {
  double scanned[kTile];
  return scan_logs(EvenLines<double>{scanned, x, 0, 0, 1, n}, sum);
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
  for (; i < n; ++i) chain[i % kChains] = Fold::join(chain[i % kChains], x[i]);
  for (const Sum& c : chain) sum = Fold::join(sum, c);
  return sum;
}

// Rows that follow each other become the sums of those up to them. Where few sums go on from row to
// row they stay in registers.
template <class Fold, int64_t kWidth, class Sum = typename Fold::Value>
void scan_few_columns(Sum* x, Sum* sum, int64_t rows) {
  Sum last[kWidth];
  __builtin_memcpy(last, sum, sizeof(last));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < kWidth; ++j)
      x[r * kWidth + j] = last[j] = Fold::join(last[j], x[r * kWidth + j]);
  }
  __builtin_memcpy(sum, last, sizeof(last));
}

template <class Fold, class Sum = typename Fold::Value>
void scan_columns(Sum* x, Sum* sum, int64_t width, int64_t rows) {
  if (width == 1) return scan_few_columns<Fold, 1>(x, sum, rows);
  if (width == 2) return scan_few_columns<Fold, 2>(x, sum, rows);
  if (width == 3) return scan_few_columns<Fold, 3>(x, sum, rows);
  if (width == 4) return scan_few_columns<Fold, 4>(x, sum, rows);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < width; ++j)
      x[r * width + j] = sum[j] = Fold::join(sum[j], x[r * width + j]);
  }
}

template <class Fold, class Sum = typename Fold::Value>
constexpr Loops<Sum> make_loops() {
  Loops<Sum> loops{Fold::kNothing, Fold::kCycles, nullptr, nullptr, nullptr, scan_columns<Fold>};
  if constexpr (std::is_same_v<Fold, LogOfSum>) {
    loops.scan = scan_logs;
    loops.join = join_logs;
  } else {
    loops.scan = scan_lines<Fold, Sum>;
    loops.join = join_tile<Fold>;
    if constexpr (std::is_same_v<Sum, double>) loops.scan_floats = scan_lines<Fold, float>;
  }
  return loops;
}

template <class Fold>
constexpr Loops<typename Fold::Value> loops_of = make_loops<Fold>();

// ---- the lines

// An axis holds y's stride as x, so that axes are ordered by it, and x's as y.
struct ScanLines {
  Axes kept;
  Axis along;

  int64_t count() const { return kept.count(); }
  bool is_rows() const {
    return magnitude(along.x) < magnitude(kept.inner().x) || kept.inner().size == 1;
  }
  // Few long lines are cut into chunks. The shape alone decides, so the bits do not depend on the
  // threads.
  int64_t chunks() const {
    const bool cut = is_rows() && count() < 16 && along.size > kChunk;
    return cut ? along.size / kChunk : 1;
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
        floats_(loops.scan_floats && are<float>()),
        sums_(are<Sum>()),
        totals_(static_cast<Sum*>(call.workspace)) {}

  void run() const {
    if (!lines_.is_rows()) return scan_columns();
    if (lines_.chunks() > 1) return scan_chunks();
    const int64_t least = lines_.count() < 16 * kBeside ? 1 : kBeside;
    const int64_t group = max(least, kTile * 8 / lines_.along.size);
    parallel_for(stream_, ceil_div(lines_.count(), group), work(), [&](int64_t tile) {
      scan_rows(tile * group, min(lines_.count(), (tile + 1) * group));
    });
  }

 private:
  int64_t work() const { return loops_.cycles * lines_.count() * lines_.along.size; }
  const char* x_at(int64_t offset) const {
    return data<const char>(x_) + offset * bytes_of(x_.dtype);
  }
  char* y_at(int64_t offset) const { return data<char>(y_) + offset * bytes_of(y_.dtype); }

  // Whether lines can be scanned where they are, as elements of T.
  template <class T>
  bool are() const {
    return holds<T>(x_.dtype) && holds<T>(y_.dtype) && lines_.along.x == 1 && lines_.along.y == 1;
  }

  // Lines beside each other at once.
  __attribute__((noinline)) void scan_rows(int64_t begin, int64_t end) const {
    const int64_t across = lines_.kept.inner().size;
    for (int64_t count; begin < end; begin += count) {
      count = min(end - begin, across - begin % across);
      const Walk at(lines_.kept, lines_.kept.n, begin);
      scan_span(at.y, at.x, count, lines_.along.size, loops_.nothing);
    }
  }

  // Scans the first n elements of `count` lines from the offsets x and y on, each on top of `sum`.
  __attribute__((noinline)) void scan_span(int64_t x, int64_t y, int64_t count, int64_t n,
                                           Sum sum) const {
    const Axis& kept = lines_.kept.inner();
    if (floats_) {
      loops_.scan_floats(lines_at<float>(x, y, count, n), sum);
    } else if (sums_) {
      loops_.scan(lines_at<Sum>(x, y, count, n), sum);
    } else if (n <= kTile) {
      for (int64_t line = 0, m; line < count; line += m) {
        m = min(kTile / n, count - line);
        scan_tile(x + line * kept.y, y + line * kept.x, m, n, sum);
      }
    } else {
      for (int64_t line = 0; line < count; ++line)
        scan_long(x + line * kept.y, y + line * kept.x, n, sum);
    }
  }

  template <class T>
  EvenLines<T> lines_at(int64_t x, int64_t y, int64_t count, int64_t n) const {
    const Axis& kept = lines_.kept.inner();
    return {reinterpret_cast<T*>(y_at(y)),
            reinterpret_cast<const T*>(x_at(x)),
            kept.x,
            kept.y,
            count,
            n};
  }

  // By way of a tile, which holds all of the lines.
  __attribute__((noinline)) Sum scan_tile(int64_t x, int64_t y, int64_t count, int64_t n,
                                          Sum sum) const {
    const Axis &along = lines_.along, &kept = lines_.kept.inner();
    Sum tile[kTile];
    for_each_run(along.y, kept.y, count, n, [&](int64_t line, int64_t m) {
      load_run(tile + line * n, x_at(x + line * kept.y), x_.dtype, along.y, m);
    });
    sum = loops_.scan(EvenLines<Sum>{tile, tile, n, n, count, n}, sum);
    for_each_run(along.x, kept.x, count, n, [&](int64_t line, int64_t m) {
      store_run(y_at(y + line * kept.x), y_.dtype, along.x, tile + line * n, m);
    });
    return sum;
  }

  void scan_long(int64_t x, int64_t y, int64_t n, Sum sum) const {
    const Axis& along = lines_.along;
    for (int64_t i = 0; i < n; i += kTile)
      sum = scan_tile(x + i * along.y, y + i * along.x, 1, min(kTile, n - i), sum);
  }

  // Calls run(first line, elements): once if the lines follow each other, else for each of them.
  template <class Run>
  static void for_each_run(int64_t stride, int64_t line_stride, int64_t lines, int64_t n,
                           const Run& run) {
    if (line_stride == stride * n) return run(0, lines * n);
    for (int64_t line = 0; line < lines; ++line) run(line, n);
  }

  __attribute__((noinline)) Sum join_row(const Walk& line, int64_t begin, int64_t end) const {
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
    parallel_for(stream_, tiles, work(), [&](int64_t tile) {
      const Walk line = line_of(tile / chunks);
      const int64_t begin = lines_.chunk_begin(tile % chunks),
                    end = lines_.chunk_begin(tile % chunks + 1);
      scan_span(line.y + begin * lines_.along.y, line.x + begin * lines_.along.x, 1, end - begin,
                totals_[tile]);
    });
  }

  // Lines side by side: vectors across them.
  void scan_columns() const {
    const int64_t across = lines_.kept.inner().size, per_line = ceil_div(across, kColumns);
    parallel_for(stream_, lines_.count() / across * per_line, work(),
                 [&](int64_t block) { scan_block(block / per_line, block % per_line * kColumns); });
  }

  __attribute__((noinline)) void scan_block(int64_t line, int64_t first) const {
    const Axis &inner = lines_.kept.inner(), &along = lines_.along;
    const Walk outer(lines_.kept, lines_.kept.n - 1, line);
    const int64_t width = min(kColumns, inner.size - first);
    const int64_t together = kColumns / width;  // rows
    const int64_t x = outer.y + first * inner.y, y = outer.x + first * inner.x;
    Sum sum[kColumns], tile[kColumns];
    for (Sum& s : sum) s = loops_.nothing;
    for (int64_t r = 0; r < along.size; r += together) {
      const int64_t rows = min(together, along.size - r);
      for_each_run(inner.y, along.y, rows, width, [&](int64_t row, int64_t n) {
        load_run(tile + row * width, x_at(x + (r + row) * along.y), x_.dtype, inner.y, n);
      });
      loops_.scan_columns(tile, sum, width, rows);
      for_each_run(inner.x, along.x, rows, width, [&](int64_t row, int64_t n) {
        store_run(y_at(y + (r + row) * along.x), y_.dtype, inner.x, tile + row * width, n);
      });
    }
  }

  const dt_stream* stream_;
  const Loops<Sum>& loops_;
  const dt_view& y_;
  const dt_view& x_;
  const ScanLines lines_;
  const bool floats_, sums_;
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

// The ops that it stands for do as well.
int32_t kernels::scan_backward(const dt_stream*, const calls::ScanBackward&) {
  return DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::cpu
