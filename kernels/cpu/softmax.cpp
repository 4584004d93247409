// softmax, log_softmax and their gradients along any dimension.
//
// Rows: the dimension is dense in all operands, so one row at a time passes through L1. Columns: otherwise a block of
// neighbouring rows is handled at once, with vectors across the rows. Both read memory once while the block stays in
// the cache.
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/reduce_plan.h"
#include "kernels/cpu/register.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTile = 2048;     // elements of a row between two sums
constexpr int64_t kColumns = 256;   // rows that are handled side by side, at most
constexpr int64_t kBlockBytes = 128 * 1024;

// The operands' strides: an axis holds the output's as x and the inputs' as y and z.
struct Lines {
  Axes kept;
  Axis along;
  bool is_dense;
  int64_t columns;  // how many rows are handled side by side

  int64_t work() const { return kept.count() * along.size; }
};

inline Lines make_lines(const dt_call* call) {
  const dt_view& out = call->out[0];
  const dt_view& first = call->in[0];
  const dt_view& last = call->in[call->n_in - 1];
  Lines lines;
  lines.along = Axis{1, 1, 1, 1};
  for (int d = 0; d < out.ndim; ++d) {
    if (out.sizes[d] == 1) continue;
    const Axis axis{out.sizes[d], out.strides[d], first.strides[d], last.strides[d]};
    if (d == call->ints[0]) {
      lines.along = axis;
    } else {
      insert_by_stride(&lines.kept, axis);
    }
  }
  coalesce(&lines.kept);
  lines.is_dense = lines.along.x == 1 && lines.along.y == 1 && lines.along.z == 1;
  if (lines.kept.n == 0) lines.kept.axis[lines.kept.n++] = Axis{1, 1, 1, 1};
  const int64_t fitting = kBlockBytes / (lines.along.size * bytes_of(out.dtype));
  lines.columns = min(max<int64_t>(fitting, 16), kColumns);
  return lines;
}

// Calls row(offset of the output, of the inputs) for each row, or columns(offsets, width) for each block of rows.
template <class Row, class Columns>
void for_each_line(const dt_stream* stream, const Lines& lines, const Row& row, const Columns& columns) {
  const int64_t rows = lines.kept.count();
  if (lines.is_dense) {
    const int64_t group = max<int64_t>(1, kSerialWork / 2 / lines.along.size);
    parallel_for(stream, ceil_div(rows, group), 2 * lines.work(), [&](int64_t tile) {
      Walk at(lines.kept, lines.kept.n, tile * group);
      const int64_t end = min(rows, (tile + 1) * group);
      for (int64_t i = tile * group; i < end; ++i, at.next()) row(at.x, at.y, at.z);
    });
    return;
  }
  const Axis& inner = lines.kept.inner();
  const int64_t per_line = ceil_div(inner.size, lines.columns);
  parallel_for(stream, rows / inner.size * per_line, 2 * lines.work(), [&](int64_t tile) {
    const Walk outer(lines.kept, lines.kept.n - 1, tile / per_line);
    const int64_t begin = tile % per_line * lines.columns;
    columns(outer.x + begin * inner.x, outer.y + begin * inner.y, outer.z + begin * inner.z,
            min(lines.columns, inner.size - begin));
  });
}

// A row of a block of columns: where it is if it is dense, else a copy.
template <class T>
const T* read_row(const T* p, int64_t stride, int64_t width, T* copy) {
  if (stride == 1) return p;
  for (int64_t j = 0; j < width; ++j) copy[j] = p[j * stride];
  return copy;
}

// Lets compute(row) write a row of a block of columns, in place if it is dense.
template <class T, class Compute>
void write_row(T* p, int64_t stride, int64_t width, const Compute& compute) {
  if (stride == 1) return compute(p);
  T row[kColumns];
  compute(row);
  for (int64_t j = 0; j < width; ++j) p[j * stride] = row[j];
}

// Adds make(first, count, tile) over tiles of a row; make fills the tile.
template <class T, class Make>
T sum_tiles(int64_t n, const Make& make) {
  double sum = 0;
  for (int64_t first = 0; first < n; first += kTile) {
    const int64_t count = min(kTile, n - first);
    T tile[kTile];
    sum += reduce_span<Sum<T>>(make(first, count, tile), count);
  }
  return static_cast<T>(sum);
}

// ---- forward

template <class T>
void softmax_row(T* y, const T* x, int64_t n) {
  const T top = reduce_span<Largest<T>>(x, n);
  const T sum = sum_tiles<T>(n, [&](int64_t first, int64_t count, T*) {
    for (int64_t i = first; i < first + count; ++i) y[i] = math::exp(x[i] - top);
    return y + first;
  });
  const T scale = T(1) / sum;
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

template <class T>
void log_softmax_row(T* y, const T* x, int64_t n) {
  const T top = reduce_span<Largest<T>>(x, n);
  const T sum = sum_tiles<T>(n, [&](int64_t first, int64_t count, T* tile) {
    for (int64_t i = 0; i < count; ++i) tile[i] = math::exp(x[first + i] - top);
    return tile;
  });
  const T log_sum = math::log(sum);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - top - log_sum;
}

// The largest element of each column.
template <class T>
void column_tops(const Lines& lines, const T* x, int64_t width, T* top) {
  T copy[kColumns];
  for (int64_t j = 0; j < width; ++j) top[j] = Limits<T>::kLowest;
  for (int64_t r = 0; r < lines.along.size; ++r) {
    const T* row = read_row(x + r * lines.along.y, lines.kept.inner().y, width, copy);
    for (int64_t j = 0; j < width; ++j) top[j] = Largest<T>::apply(top[j], row[j]);
  }
}

template <class T>
void softmax_columns(const Lines& lines, T* y, const T* x, int64_t width) {
  const Axis &along = lines.along, &inner = lines.kept.inner();
  T top[kColumns], sum[kColumns], copy[kColumns];
  column_tops(lines, x, width, top);
  for (int64_t j = 0; j < width; ++j) sum[j] = 0;
  for (int64_t r = 0; r < along.size; ++r) {
    const T* from = read_row(x + r * along.y, inner.y, width, copy);
    write_row(y + r * along.x, inner.x, width, [&](T* to) {
      for (int64_t j = 0; j < width; ++j) to[j] = math::exp(from[j] - top[j]);
      for (int64_t j = 0; j < width; ++j) sum[j] += to[j];
    });
  }
  for (int64_t j = 0; j < width; ++j) sum[j] = T(1) / sum[j];
  for (int64_t r = 0; r < along.size; ++r) {
    T* to = y + r * along.x;
    for (int64_t j = 0; j < width; ++j) to[j * inner.x] *= sum[j];
  }
}

template <class T>
void log_softmax_columns(const Lines& lines, T* y, const T* x, int64_t width) {
  const Axis &along = lines.along, &inner = lines.kept.inner();
  T top[kColumns], sum[kColumns], copy[kColumns];
  column_tops(lines, x, width, top);
  for (int64_t j = 0; j < width; ++j) sum[j] = 0;
  for (int64_t r = 0; r < along.size; ++r) {
    const T* from = read_row(x + r * along.y, inner.y, width, copy);
    for (int64_t j = 0; j < width; ++j) sum[j] += math::exp(from[j] - top[j]);
  }
  for (int64_t j = 0; j < width; ++j) sum[j] = math::log(sum[j]);
  for (int64_t r = 0; r < along.size; ++r) {
    const T* from = read_row(x + r * along.y, inner.y, width, copy);
    write_row(y + r * along.x, inner.x, width, [&](T* to) {
      for (int64_t j = 0; j < width; ++j) to[j] = from[j] - top[j] - sum[j];
    });
  }
}

// ---- backward

template <class T>
void softmax_backward_row(T* gx, const T* g, const T* y, int64_t n) {
  const T dot = sum_tiles<T>(n, [&](int64_t first, int64_t count, T* tile) {
    for (int64_t i = 0; i < count; ++i) tile[i] = g[first + i] * y[first + i];
    return tile;
  });
  for (int64_t i = 0; i < n; ++i) gx[i] = y[i] * (g[i] - dot);
}

template <class T>
void log_softmax_backward_row(T* gx, const T* g, const T* y, int64_t n) {
  const T sum = sum_tiles<T>(n, [&](int64_t first, int64_t, T*) { return g + first; });
  for (int64_t i = 0; i < n; ++i) gx[i] = g[i] - math::exp(y[i]) * sum;
}

// Both gradients along columns: sums of term(g, y), then gx = result(g, y, sum).
template <class T, class Term, class Result>
void backward_columns(const Lines& lines, T* gx, const T* g, const T* y, int64_t width, const Term& term,
                      const Result& result) {
  const Axis &along = lines.along, &inner = lines.kept.inner();
  T sum[kColumns], copy_g[kColumns], copy_y[kColumns];
  for (int64_t j = 0; j < width; ++j) sum[j] = 0;
  for (int64_t r = 0; r < along.size; ++r) {
    const T* row_g = read_row(g + r * along.y, inner.y, width, copy_g);
    const T* row_y = read_row(y + r * along.z, inner.z, width, copy_y);
    for (int64_t j = 0; j < width; ++j) sum[j] += term(row_g[j], row_y[j]);
  }
  for (int64_t r = 0; r < along.size; ++r) {
    const T* row_g = read_row(g + r * along.y, inner.y, width, copy_g);
    const T* row_y = read_row(y + r * along.z, inner.z, width, copy_y);
    write_row(gx + r * along.x, inner.x, width, [&](T* to) {
      for (int64_t j = 0; j < width; ++j) to[j] = result(row_g[j], row_y[j], sum[j]);
    });
  }
}

// ---- kernels

struct Forward {
  template <class T>
  static void run(const dt_stream* stream, const dt_call* call) {
    const Lines lines = make_lines(call);
    T* y = data<T>(call->out[0]);
    const T* x = data<const T>(call->in[0]);
    for_each_line(
        stream, lines,
        [&](int64_t to, int64_t from, int64_t) { softmax_row(y + to, x + from, lines.along.size); },
        [&](int64_t to, int64_t from, int64_t, int64_t width) { softmax_columns(lines, y + to, x + from, width); });
  }
};

struct LogForward {
  template <class T>
  static void run(const dt_stream* stream, const dt_call* call) {
    const Lines lines = make_lines(call);
    T* y = data<T>(call->out[0]);
    const T* x = data<const T>(call->in[0]);
    for_each_line(
        stream, lines,
        [&](int64_t to, int64_t from, int64_t) { log_softmax_row(y + to, x + from, lines.along.size); },
        [&](int64_t to, int64_t from, int64_t, int64_t width) {
          log_softmax_columns(lines, y + to, x + from, width);
        });
  }
};

struct Backward {
  template <class T>
  static void run(const dt_stream* stream, const dt_call* call) {
    const Lines lines = make_lines(call);
    T* gx = data<T>(call->out[0]);
    const T* g = data<const T>(call->in[0]);
    const T* y = data<const T>(call->in[1]);
    for_each_line(
        stream, lines,
        [&](int64_t to, int64_t at_g, int64_t at_y) {
          softmax_backward_row(gx + to, g + at_g, y + at_y, lines.along.size);
        },
        [&](int64_t to, int64_t at_g, int64_t at_y, int64_t width) {
          backward_columns(
              lines, gx + to, g + at_g, y + at_y, width, [](T grad, T result) { return grad * result; },
              [](T grad, T result, T dot) { return result * (grad - dot); });
        });
  }
};

struct LogBackward {
  template <class T>
  static void run(const dt_stream* stream, const dt_call* call) {
    const Lines lines = make_lines(call);
    T* gx = data<T>(call->out[0]);
    const T* g = data<const T>(call->in[0]);
    const T* y = data<const T>(call->in[1]);
    for_each_line(
        stream, lines,
        [&](int64_t to, int64_t at_g, int64_t at_y) {
          log_softmax_backward_row(gx + to, g + at_g, y + at_y, lines.along.size);
        },
        [&](int64_t to, int64_t at_g, int64_t at_y, int64_t width) {
          backward_columns(
              lines, gx + to, g + at_g, y + at_y, width, [](T grad, T) { return grad; },
              [](T grad, T result, T sum) { return grad - math::exp(result) * sum; });
        });
  }
};

template <class Kernel>
int32_t run_floating(const dt_stream* stream, const dt_call* call) {
  if (count(call->out[0]) == 0) return DT_KERNEL_OK;
  switch (call->out[0].dtype) {
    case DT_FLOAT32:
      Kernel::template run<float>(stream, call);
      return DT_KERNEL_OK;
    case DT_FLOAT64:
      Kernel::template run<double>(stream, call);
      return DT_KERNEL_OK;
    default:
      return DT_KERNEL_UNSUPPORTED;
  }
}

}  // namespace

void register_softmax(dt_backend* table) {
  table->kernel[DT_OP_softmax] = run_floating<Forward>;
  table->kernel[DT_OP_softmax_backward] = run_floating<Backward>;
  table->kernel[DT_OP_log_softmax] = run_floating<LogForward>;
  table->kernel[DT_OP_log_softmax_backward] = run_floating<LogBackward>;
}

}  // namespace dt::cpu
