// cumsum along any dimension. Floating sums are carried in double, integers wrap around in 64 bits.
#include "kernels/calls/reduce.gen.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/reduce_plan.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 512;
constexpr int kTogether = 4;  // lines
constexpr int64_t kColumns = 256;
constexpr int64_t kChunk = 65536;  // elements of a long line that are summed on their own

// An axis holds y's stride as x, so that axes are ordered by it, and x's as y.
struct ScanLines {
  Axes kept;
  Axis along;

  int64_t count() const { return kept.count(); }
  int64_t work() const { return 4 * count() * along.size; }  // each sum waits for the one before
  bool is_rows() const {
    return magnitude(along.x) < magnitude(kept.inner().x) || kept.inner().size == 1;
  }
  // Few long lines are cut into chunks; the shape alone decides, so the bits do not depend on the
  // threads.
  int64_t chunks() const { return is_rows() && count() < 16 ? ceil_div(along.size, kChunk) : 1; }
};

inline ScanLines make_lines(const calls::Cumsum& call) {
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
  Scan(const dt_stream* stream, const calls::Cumsum& call)
      : stream_(stream),
        y_(call.y),
        x_(call.x),
        lines_(make_lines(call)),
        totals_(static_cast<Sum*>(call.workspace)) {}

  void run() const {
    if (!lines_.is_rows()) return scan_columns();
    if (lines_.chunks() > 1) return scan_chunks();
    const int64_t group = max<int64_t>(1, kTile * 8 / lines_.along.size);
    parallel_for(stream_, ceil_div(lines_.count(), group), lines_.work(), [&](int64_t tile) {
      Walk at(lines_.kept, lines_.kept.n, tile * group);
      const int64_t end = min(lines_.count(), (tile + 1) * group);
      int64_t i = tile * group;
      for (; i + kTogether <= end; i += kTogether) scan_rows_together(&at);
      for (; i < end; ++i, at.next()) scan_row(at, 0, lines_.along.size, Sum(0));
    });
  }

 private:
  // Where a line's first elements are.
  struct Offsets {
    int64_t x, y;
  };

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
      for (int64_t i = 0; i < n; ++i) tile[i] = sum += tile[i];
      store_run(y_at(line.x + at * along.x), y_.dtype, along.x, tile, n);
    }
    return sum;
  }

  // Scans four lines at once: each sum waits for the one before it, so a single line would leave
  // the processor idle.
  void scan_rows_together(Walk* at) const {
    const Axis& along = lines_.along;
    Offsets line[kTogether];
    for (Offsets& l : line) l = {at->y, at->x}, at->next();
    // Rows are not a power of two apart: a processor takes their addresses for the same one.
    Sum tile[kTogether][kTile + 8], sum[kTogether] = {};
    for (int64_t begin = 0; begin < along.size; begin += kTile) {
      const int64_t n = min(kTile, along.size - begin);
      for (int k = 0; k < kTogether; ++k)
        load_run(tile[k], x_at(line[k].x + begin * along.y), x_.dtype, along.y, n);
      scan_four(tile[0], tile[1], tile[2], tile[3], sum, n);
      for (int k = 0; k < kTogether; ++k)
        store_run(y_at(line[k].y + begin * along.x), y_.dtype, along.x, tile[k], n);
    }
  }

  // Four variables rather than an array, which would live in memory.
  static void scan_four(Sum* a, Sum* b, Sum* c, Sum* d, Sum (&sum)[kTogether], int64_t n) {
    Sum sum_a = sum[0], sum_b = sum[1], sum_c = sum[2], sum_d = sum[3];
    for (int64_t i = 0; i < n; ++i) {
      a[i] = sum_a += a[i];
      b[i] = sum_b += b[i];
      c[i] = sum_c += c[i];
      d[i] = sum_d += d[i];
    }
    sum[0] = sum_a, sum[1] = sum_b, sum[2] = sum_c, sum[3] = sum_d;
  }

  Sum add_row(const Walk& line, int64_t begin, int64_t end) const {
    Sum tile[kTile], sum = 0;
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = min(kTile, end - at);
      load_run(tile, x_at(line.y + at * lines_.along.y), x_.dtype, lines_.along.y, n);
      for (int64_t i = 0; i < n; ++i) sum += tile[i];
    }
    return sum;
  }

  // Each chunk's total first, then each chunk on top of the totals before it.
  void scan_chunks() const {
    const int64_t chunks = lines_.chunks(), tiles = chunks * lines_.count();
    auto for_each_chunk = [&](auto body) {
      parallel_for(stream_, tiles, lines_.work(), [&](int64_t tile) {
        const int64_t begin = tile % chunks * kChunk;
        body(tile, Walk(lines_.kept, lines_.kept.n, tile / chunks), begin,
             min(lines_.along.size, begin + kChunk));
      });
    };
    for_each_chunk([&](int64_t tile, const Walk& line, int64_t begin, int64_t end) {
      totals_[tile] = add_row(line, begin, end);
    });
    for (int64_t line = 0; line < tiles; line += chunks) {
      Sum before = 0;
      for (int64_t tile = line; tile < line + chunks; ++tile) {
        const Sum total = totals_[tile];
        totals_[tile] = before;
        before += total;
      }
    }
    for_each_chunk([&](int64_t tile, const Walk& line, int64_t begin, int64_t end) {
      scan_row(line, begin, end, totals_[tile]);
    });
  }

  // Lines side by side: vectors across them.
  void scan_columns() const {
    const Axis &inner = lines_.kept.inner(), &along = lines_.along;
    const int64_t per_line = ceil_div(inner.size, kColumns);
    parallel_for(
        stream_, lines_.count() / inner.size * per_line, lines_.work(), [&](int64_t block) {
          const Walk outer(lines_.kept, lines_.kept.n - 1, block / per_line);
          const int64_t first = block % per_line * kColumns,
                        width = min(kColumns, inner.size - first);
          Sum sum[kColumns] = {}, row[kColumns];
          for (int64_t r = 0; r < along.size; ++r) {
            load_run(row, x_at(outer.y + first * inner.y + r * along.y), x_.dtype, inner.y, width);
            for (int64_t j = 0; j < width; ++j) sum[j] += row[j];
            store_run(y_at(outer.x + first * inner.x + r * along.x), y_.dtype, inner.x, sum, width);
          }
        });
  }

  const dt_stream* stream_;
  const dt_view& y_;
  const dt_view& x_;
  const ScanLines lines_;
  Sum* totals_;
};

}  // namespace

int32_t kernels::cumsum(const dt_stream* stream, const calls::Cumsum& call) {
  if (count(call.x) == 0) return DT_KERNEL_OK;
  if (is_floating(call.compute)) {
    Scan<double>(stream, call).run();
  } else {
    Scan<uint64_t>(stream, call).run();
  }
  return DT_KERNEL_OK;
}

int64_t kernels::cumsum_workspace(const dt_stream*, const calls::Cumsum& call) {
  if (count(call.x) == 0) return 0;
  const ScanLines lines = make_lines(call);
  static_assert(sizeof(double) == sizeof(uint64_t), "one size for both kinds of sum");
  return lines.chunks() > 1 ? lines.chunks() * lines.count() * static_cast<int64_t>(sizeof(double))
                            : 0;
}

}  // namespace dt::cpu
