// Tensors from nothing: ranges; and the triangle of a matrix.
#include "kernels/calls/creation.gen.h"
#include "kernels/calls/indexing.gen.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/workers.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kChunk = 512;

// Fills a 1-d view of any dtype from value(i), which gives a T.
template <class T, class Value>
void fill(const dt_stream* stream, const dt_view& y, const Value& value) {
  const int64_t n = count(y), bytes = bytes_of(y.dtype);
  const int64_t stride = y.ndim == 0 ? 1 : y.strides[0];
  TileFunction* const convert = conversion(dtype_of<T>, y.dtype);
  const int64_t chunks = ceil_div(n, kChunk);
  const int64_t tasks = worth_threads(stream, n) ? ceil_div(chunks, 32) : 1;
  const auto run = [&](int64_t task) {
    for (int64_t c = chunks * task / tasks; c < chunks * (task + 1) / tasks; ++c) {
      T values[kChunk];
      const int64_t start = c * kChunk, m = min(kChunk, n - start);
      for (int64_t i = 0; i < m; ++i) values[i] = value(start + i);
      Tile tile;
      tile.in[0] = values;
      tile.out = static_cast<char*>(y.data) + start * stride * bytes;
      // A strided view is written as rows of one element.
      tile.rows = stride == 1 ? 1 : m;
      tile.n = stride == 1 ? m : 1;
      tile.in_row[0] = 1;
      tile.out_row = stride;
      convert(tile);
    }
  };
  parallel_for(stream, tasks, run);
}

// Steps in the arithmetic of the result, from the nearer end, so that both ends are exact.
template <class T>
void linspace_typed(const dt_stream* stream, const dt_view& y, T start, T end) {
  const int64_t n = count(y);
  const T step = n > 1 ? (end - start) / static_cast<T>(n - 1) : T(0);
  fill<T>(stream, y, [=](int64_t i) {
    return i < n / 2 || n == 1 ? start + step * static_cast<T>(i)
                               : end - step * static_cast<T>(n - 1 - i);
  });
}

// ---- triangle

// One row: elements [0, from) and [to, n) become 0, the others are copied.
template <class T>
inline void keep_range(T* y, int64_t y_stride, const T* x, int64_t x_stride, int64_t n,
                       int64_t from, int64_t to) {
  for (int64_t j = 0; j < from; ++j) y[j * y_stride] = T(0);
  if (y_stride == 1 && x_stride == 1) {
    for (int64_t j = from; j < to; ++j) y[j] = x[j];
  } else {
    for (int64_t j = from; j < to; ++j) y[j * y_stride] = x[j * x_stride];
  }
  for (int64_t j = to; j < n; ++j) y[j * y_stride] = T(0);
}

// The offset of row `row` of all but the last dimension.
inline int64_t row_offset(const dt_view& view, int64_t row) {
  int64_t offset = 0;
  for (int d = view.ndim - 2; d >= 0; --d) {
    offset += row % view.sizes[d] * view.strides[d];
    row /= view.sizes[d];
  }
  return offset;
}

template <class T>
void triangle_typed(const dt_stream* stream, const calls::Triangle& call) {
  const dt_view &x = call.x, &y = call.y;
  const int64_t diagonal = call.diagonal, n = y.sizes[y.ndim - 1], m = y.sizes[y.ndim - 2];
  const bool upper = call.upper;
  const int64_t elements = count(y);
  if (elements == 0) return;
  const int64_t rows = elements / n;
  const int64_t tasks =
      worth_threads(stream, elements) ? min<int64_t>(rows, stream->threads * 8) : 1;
  const auto run = [&](int64_t task) {
    for (int64_t row = rows * task / tasks; row < rows * (task + 1) / tasks; ++row) {
      // The first column right of the part that counts from the left.
      const int64_t i = row % m, edge = i + diagonal + (upper ? 0 : 1);
      const int64_t split = edge < 0 ? 0 : min(edge, n);
      keep_range(data<T>(y) + row_offset(y, row), y.strides[y.ndim - 1],
                 data<const T>(x) + row_offset(x, row), x.strides[x.ndim - 1], n, upper ? split : 0,
                 upper ? n : split);
    }
  };
  parallel_for(stream, tasks, run);
}

}  // namespace

int32_t kernels::arange(const dt_stream* stream, const calls::Arange& call) {
  if (is_floating(call.y.dtype)) {
    const double start = call.start, step = call.step;
    fill<double>(stream, call.y, [=](int64_t i) { return start + static_cast<double>(i) * step; });
  } else {
    const int64_t start = call.integer_start, step = call.integer_step;
    fill<int64_t>(stream, call.y, [=](int64_t i) { return start + i * step; });
  }
  return DT_KERNEL_OK;
}

int32_t kernels::linspace(const dt_stream* stream, const calls::Linspace& call) {
  const dt_view& y = call.y;
  const double start = call.start, end = call.end;
  return visit_value(y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsFloating<T>) {
      linspace_typed<T>(stream, y, static_cast<T>(start), static_cast<T>(end));
    } else {
      // Integers are taken between integer ends.
      linspace_typed<double>(stream, y, math::trunc(start), math::trunc(end));
    }
  });
}

int32_t kernels::triangle(const dt_stream* stream, const calls::Triangle& call) {
  return visit_width(call.y.dtype, [&](auto type) {
    triangle_typed<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cpu
