// softmax, log_softmax and their gradients along any dimension.
//
// Rows: the dimension is dense in all operands, so a row, or a group of short ones, at a time
// passes through L1. Columns: otherwise a block of neighbouring rows is handled at once, with
// vectors across the rows. Both read memory once while the block stays in the cache.
#include "kernels/calls/nn.gen.h"
#include "kernels/cpu/exp_span.h"
#include "kernels/cpu/reduce_plan.h"
#include "kernels/cpu/row_group.h"
#include "kernels/cpu/rows.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kColumns = 256;  // rows that are handled side by side, at most
constexpr int64_t kBlockBytes = 256 * 1024;
constexpr int64_t kShortestRow = 5;  // elements; many shorter rows are handled side by side

// The operands' strides: an axis holds the output's as x and the inputs' as y and z.
struct SoftmaxLines {
  Axes kept;
  Axis along;
  bool is_dense;
  int64_t columns;  // how many rows are handled side by side

  int64_t work() const { return kept.count() * along.size; }
};

inline SoftmaxLines make_lines(const dt_view& out, const dt_view& first, const dt_view& last,
                               int64_t dim) {
  SoftmaxLines lines;
  lines.along = Axis{1, 1, 1, 1};
  for (int d = 0; d < out.ndim; ++d) {
    if (out.sizes[d] == 1) continue;
    const Axis axis{out.sizes[d], out.strides[d], first.strides[d], last.strides[d]};
    if (d == dim) {
      lines.along = axis;
    } else {
      insert_by_stride(&lines.kept, axis);
    }
  }
  coalesce(&lines.kept);
  if (lines.kept.n == 0) lines.kept.axis[lines.kept.n++] = Axis{1, 1, 1, 1};
  const bool fills_columns = lines.along.size < kShortestRow && lines.kept.inner().size >= 16;
  lines.is_dense = lines.along.x == 1 && lines.along.y == 1 && lines.along.z == 1 && !fills_columns;
  const int64_t fitting = kBlockBytes / (lines.along.size * bytes_of(out.dtype));
  lines.columns = min(max<int64_t>(fitting, 64), kColumns);
  return lines;
}

// Some dense rows: offsets of the first one in the output and the inputs, distances of the rows.
struct RowGroup {
  int64_t x, y, z, rows, n;
  const Axis& step;
};

// Calls rows(group) for each group of rows, or columns(offsets, width) for each block of rows.
template <class T, class Rows, class Columns>
void for_each_line(const dt_stream* stream, const SoftmaxLines& lines, const Rows& do_rows,
                   const Columns& columns) {
  const int64_t rows = lines.kept.count(), n = lines.along.size;
  const Axis& inner = lines.kept.inner();
  if (lines.is_dense) {
    const int64_t group = max<int64_t>(rows_together<T>(n), kSerialWork / 2 / n);
    parallel_for(stream, ceil_div(rows, group), 2 * lines.work(), [&](int64_t tile) {
      const int64_t end = min(rows, (tile + 1) * group);
      for (int64_t i = tile * group; i < end;) {
        const Walk at(lines.kept, lines.kept.n, i);
        const int64_t together =
            min(min(rows_together<T>(n), end - i), inner.size - i % inner.size);
        do_rows(RowGroup{at.x, at.y, at.z, together, n, inner});
        i += together;
      }
    });
    return;
  }
  const int64_t per_line = ceil_div(inner.size, lines.columns);
  parallel_for(stream, rows / inner.size * per_line, 2 * lines.work(), [&](int64_t tile) {
    const Walk outer(lines.kept, lines.kept.n - 1, tile / per_line);
    const int64_t begin = tile % per_line * lines.columns;
    columns(outer.x + begin * inner.x, outer.y + begin * inner.y, outer.z + begin * inner.z,
            min(lines.columns, inner.size - begin));
  });
}

// ---- forward

// Calls do_rows(y, x, group) for rows whose elements may lie apart in x: they are copied to where
// their results will be.
template <class T, class Rows>
void on_dense_rows(const SoftmaxLines& lines, T* y, const T* x, const RowGroup& at,
                   const Rows& do_rows) {
  const int64_t stride = lines.along.y;
  if (stride == 1) return do_rows(y, x, at);
  for (int64_t k = 0; k < at.rows; ++k) {
    T* const to = y + at.x + k * at.step.x;
    const T* const from = x + at.y + k * at.step.y;
    for (int64_t i = 0; i < at.n; ++i) to[i] = from[i * stride];
  }
  const Axis step{at.step.size, at.step.x, at.step.x, at.step.x};
  do_rows(y, y, RowGroup{at.x, at.x, at.x, at.rows, at.n, step});
}

template <class T>
void softmax_rows(T* y, const T* x, const RowGroup& at) {
  T top[kMostRows<T>], sum[kMostRows<T>];
  y += at.x, x += at.y;
  reduce_spans<Largest<T>>(top, x, at.step.y, at.rows, at.n, true);
  sum_rows<T>(
      at.rows, at.n,
      [&](int64_t k, int64_t first, int64_t count) {
        const int64_t to = k * at.step.x + first, from = k * at.step.y + first;
        return Terms<T, 1>{exp_to_vector(y + to, x + from, top[k], count)};
      },
      sum);
  for (int64_t k = 0; k < at.rows; ++k) {
    T* const row = y + k * at.step.x;
    const T scale = T(1) / sum[k];
    write_row(row, at.n,
              [=](int64_t i, int64_t count) { return load_as<T>(row + i, count) * scale; });
  }
}

template <class T>
void log_softmax_rows(T* y, const T* x, const RowGroup& at) {
  T top[kMostRows<T>], sum[kMostRows<T>], tile[kRowTile];
  y += at.x, x += at.y;
  reduce_spans<Largest<T>>(top, x, at.step.y, at.rows, at.n, true);
  sum_rows<T>(
      at.rows, at.n,
      [&](int64_t k, int64_t first, int64_t count) {
        return Terms<T, 1>{exp_to_vector(tile, x + k * at.step.y + first, top[k], count)};
      },
      sum);
  for (int64_t k = at.rows; k < kMostRows<T>; ++k) sum[k] = 1;  // the logarithms are a vector
  for (int64_t k = 0; k < kMostRows<T>; ++k) sum[k] = math::log(sum[k]);
  for (int64_t k = 0; k < at.rows; ++k) {
    const T* const row = x + k * at.step.y;
    const T shift = top[k], log_sum = sum[k];
    write_row(y + k * at.step.x, at.n, [=](int64_t i, int64_t count) {
      return load_as<T>(row + i, count) - shift - log_sum;
    });
  }
}

// The largest element of each column.
template <class T>
void column_tops(const SoftmaxLines& lines, const T* x, int64_t width, T* top) {
  T copy[kColumns];
  for (int64_t j = 0; j < width; ++j) top[j] = Limits<T>::kLowest;
  for (int64_t r = 0; r < lines.along.size; ++r) {
    const T* row = read_run(x + r * lines.along.y, lines.kept.inner().y, width, copy);
    for (int64_t j = 0; j < width; ++j) top[j] = Largest<T>::apply(top[j], row[j]);
  }
}

template <class T>
void softmax_columns(const SoftmaxLines& lines, T* y, const T* x, int64_t width) {
  const Axis &along = lines.along, &inner = lines.kept.inner();
  T top[kColumns], sum[kColumns], copy[kColumns];
  column_tops(lines, x, width, top);
  for (int64_t j = 0; j < width; ++j) sum[j] = 0;
  for (int64_t r = 0; r < along.size; ++r) {
    const T* from = read_run(x + r * along.y, inner.y, width, copy);
    write_run<kColumns>(y + r * along.x, inner.x, width, [&](T* to) {
      exp_columns(to, from, top, width);
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
void log_softmax_columns(const SoftmaxLines& lines, T* y, const T* x, int64_t width) {
  const Axis &along = lines.along, &inner = lines.kept.inner();
  T top[kColumns], sum[kColumns], copy[kColumns], term[kColumns];
  column_tops(lines, x, width, top);
  for (int64_t j = 0; j < width; ++j) sum[j] = 0;
  for (int64_t r = 0; r < along.size; ++r) {
    const T* from = read_run(x + r * along.y, inner.y, width, copy);
    exp_columns(term, from, top, width);
    for (int64_t j = 0; j < width; ++j) sum[j] += term[j];
  }
  for (int64_t j = 0; j < width; ++j) sum[j] = math::log(sum[j]);
  for (int64_t r = 0; r < along.size; ++r) {
    const T* from = read_run(x + r * along.y, inner.y, width, copy);
    write_run<kColumns>(y + r * along.x, inner.x, width, [&](T* to) {
      for (int64_t j = 0; j < width; ++j) to[j] = from[j] - top[j] - sum[j];
    });
  }
}

// ---- backward

template <class T>
void softmax_backward_rows(T* gx, const T* g, const T* y, const RowGroup& at) {
  T dot[kMostRows<T>];
  gx += at.x, g += at.y, y += at.z;
  sum_rows<T>(
      at.rows, at.n,
      [&](int64_t k, int64_t first, int64_t count) {
        const T *const row_g = g + k * at.step.y, *const row_y = y + k * at.step.z;
        return sum_terms<T>(first, count, [=](int64_t i, int64_t some) {
          return Terms<T, 1>{load_as<T>(row_g + i, some) * load_as<T>(row_y + i, some)};
        });
      },
      dot);
  for (int64_t k = 0; k < at.rows; ++k) {
    const T *const row_g = g + k * at.step.y, *const row_y = y + k * at.step.z;
    const T total = dot[k];
    write_row(gx + k * at.step.x, at.n, [=](int64_t i, int64_t count) {
      return load_as<T>(row_y + i, count) * (load_as<T>(row_g + i, count) - total);
    });
  }
}

template <class T>
void log_softmax_backward_rows(T* gx, const T* g, const T* y, const RowGroup& at) {
  T sum[kMostRows<T>];
  gx += at.x, g += at.y, y += at.z;
  sum_rows<T>(
      at.rows, at.n,
      [&](int64_t k, int64_t first, int64_t count) {
        const T* const row_g = g + k * at.step.y;
        return sum_terms<T>(first, count, [=](int64_t i, int64_t some) {
          return Terms<T, 1>{load_as<T>(row_g + i, some)};
        });
      },
      sum);
  for (int64_t k = 0; k < at.rows; ++k) {
    const T *const row_g = g + k * at.step.y, *const row_y = y + k * at.step.z;
    T* const row = gx + k * at.step.x;
    for (int64_t i = 0; i < at.n; ++i) row[i] = row_g[i] - math::exp(row_y[i]) * sum[k];
  }
}

// Both gradients along columns: sums of term(g, y), then gx = result(g, y, sum).
template <class T, class Term, class Result>
void backward_columns(const SoftmaxLines& lines, T* gx, const T* g, const T* y, int64_t width,
                      const Term& term, const Result& result) {
  const Axis &along = lines.along, &inner = lines.kept.inner();
  T sum[kColumns], copy_g[kColumns], copy_y[kColumns];
  for (int64_t j = 0; j < width; ++j) sum[j] = 0;
  for (int64_t r = 0; r < along.size; ++r) {
    const T* row_g = read_run(g + r * along.y, inner.y, width, copy_g);
    const T* row_y = read_run(y + r * along.z, inner.z, width, copy_y);
    for (int64_t j = 0; j < width; ++j) sum[j] += term(row_g[j], row_y[j]);
  }
  for (int64_t r = 0; r < along.size; ++r) {
    const T* row_g = read_run(g + r * along.y, inner.y, width, copy_g);
    const T* row_y = read_run(y + r * along.z, inner.z, width, copy_y);
    write_run<kColumns>(gx + r * along.x, inner.x, width, [&](T* to) {
      for (int64_t j = 0; j < width; ++j) to[j] = result(row_g[j], row_y[j], sum[j]);
    });
  }
}

// ---- kernels

inline SoftmaxLines lines_of(const calls::Softmax& call) {
  SoftmaxLines lines = make_lines(call.y, call.x, call.x, call.dim);
  // Columns are worth it where they are read as they lie, and fill vectors.
  constexpr int64_t kFewColumns = 8;
  const Axis& inner = lines.kept.inner();
  const bool is_scattered = inner.y != 1 || inner.size < kFewColumns;
  lines.is_dense |= lines.along.x == 1 && is_scattered && lines.along.size >= kShortestRow;
  return lines;
}

inline SoftmaxLines lines_of(const calls::SoftmaxBackward& call) {
  return make_lines(call.gx, call.g, call.y, call.dim);
}

struct Softmax {
  template <class T>
  static int32_t run(const dt_stream* stream, const calls::Softmax& call) {
    const SoftmaxLines lines = lines_of(call);
    T* const to_y = data<T>(call.y);
    const T* const from_x = data<const T>(call.x);
    for_each_line<T>(
        stream, lines,
        [&](const RowGroup& at) { on_dense_rows(lines, to_y, from_x, at, softmax_rows<T>); },
        [&](int64_t y, int64_t x, int64_t, int64_t width) {
          softmax_columns(lines, to_y + y, from_x + x, width);
        });
    return DT_KERNEL_OK;
  }
};

struct LogSoftmax {
  template <class T>
  static int32_t run(const dt_stream* stream, const calls::Softmax& call) {
    const SoftmaxLines lines = lines_of(call);
    T* const to_y = data<T>(call.y);
    const T* const from_x = data<const T>(call.x);
    for_each_line<T>(
        stream, lines,
        [&](const RowGroup& at) { on_dense_rows(lines, to_y, from_x, at, log_softmax_rows<T>); },
        [&](int64_t y, int64_t x, int64_t, int64_t width) {
          log_softmax_columns(lines, to_y + y, from_x + x, width);
        });
    return DT_KERNEL_OK;
  }
};

struct SoftmaxBackward {
  template <class T>
  static int32_t run(const dt_stream* stream, const calls::SoftmaxBackward& call) {
    const SoftmaxLines lines = lines_of(call);
    T* const to_gx = data<T>(call.gx);
    const T *const from_g = data<const T>(call.g), *const from_y = data<const T>(call.y);
    for_each_line<T>(
        stream, lines,
        [&](const RowGroup& at) { softmax_backward_rows(to_gx, from_g, from_y, at); },
        [&](int64_t gx, int64_t g, int64_t y, int64_t width) {
          backward_columns(
              lines, to_gx + gx, from_g + g, from_y + y, width,
              [](T grad, T result) { return grad * result; },
              [](T grad, T result, T dot) { return result * (grad - dot); });
        });
    return DT_KERNEL_OK;
  }
};

struct LogSoftmaxBackward {
  template <class T>
  static int32_t run(const dt_stream* stream, const calls::SoftmaxBackward& call) {
    const SoftmaxLines lines = lines_of(call);
    T* const to_gx = data<T>(call.gx);
    const T *const from_g = data<const T>(call.g), *const from_y = data<const T>(call.y);
    for_each_line<T>(
        stream, lines,
        [&](const RowGroup& at) { log_softmax_backward_rows(to_gx, from_g, from_y, at); },
        [&](int64_t gx, int64_t g, int64_t y, int64_t width) {
          backward_columns(
              lines, to_gx + gx, from_g + g, from_y + y, width, [](T grad, T) { return grad; },
              [](T grad, T result, T sum) { return grad - math::exp(result) * sum; });
        });
    return DT_KERNEL_OK;
  }
};

template <class Kernel, class Call>
int32_t run_unless_empty(const dt_stream* stream, const Call& call, const dt_view& x) {
  if (count(x) == 0) return DT_KERNEL_OK;
  return visit_floating(x.dtype, [&](auto type) {
    return Kernel::template run<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace

int32_t kernels::softmax(const dt_stream* stream, const calls::Softmax& call) {
  return run_unless_empty<Softmax>(stream, call, call.x);
}

int32_t kernels::softmax_backward(const dt_stream* stream, const calls::SoftmaxBackward& call) {
  return run_unless_empty<SoftmaxBackward>(stream, call, call.g);
}

int32_t kernels::log_softmax(const dt_stream* stream, const calls::Softmax& call) {
  return run_unless_empty<LogSoftmax>(stream, call, call.x);
}

int32_t kernels::log_softmax_backward(const dt_stream* stream, const calls::SoftmaxBackward& call) {
  return run_unless_empty<LogSoftmaxBackward>(stream, call, call.g);
}

}  // namespace dt::cpu
