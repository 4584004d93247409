// The triangle of a matrix.
#include "kernels/calls/indexing.gen.h"
#include "kernels/cpu/common.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

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
    const int64_t begin = rows * task / tasks, end = rows * (task + 1) / tasks;
    for (int64_t row = begin; row < end;) {
      T* to = data<T>(y) + row_offset(y, row);
      const T* from = data<const T>(x) + row_offset(x, row);
      for (int64_t i = row % m; i < m && row < end; ++i, ++row) {
        // The first column right of the part that counts from the left.
        const int64_t edge = i + diagonal + (upper ? 0 : 1), split = edge < 0 ? 0 : min(edge, n);
        keep_range(to, y.strides[y.ndim - 1], from, x.strides[x.ndim - 1], n, upper ? split : 0,
                   upper ? n : split);
        to += y.strides[y.ndim - 2], from += x.strides[x.ndim - 2];
      }
    }
  };
  parallel_for(stream, tasks, run);
}

}  // namespace

int32_t kernels::triangle(const dt_stream* stream, const calls::Triangle& call) {
  return visit_width(call.y.dtype, [&](auto type) {
    triangle_typed<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cpu
