// cummax and cummin: the best element of each row so far, and the position of the last one that
// equals it.
#include "kernels/calls/sorting.gen.h"
#include "kernels/cpu/order.h"

namespace dt::cpu {
namespace {

constexpr int64_t kColumns = 64;

// Whether x takes the place of what was best so far. Branch-free.
template <bool kSmallest, class T>
bool follows(T x, T best) {
  const bool is_better = kSmallest ? x <= best : x >= best;
  return is_better | (x != x);  // nothing compares with a NaN but the next one
}

template <bool kSmallest, class T>
void scan_row(const Row<T>& x, const RowResult<T>& y) {
  T best = x[0];
  int64_t position = 0;
  for (int64_t i = 0; i < x.n; ++i) {
    const bool is_next = follows<kSmallest>(x[i], best);
    best = is_next ? x[i] : best;
    position = is_next ? i : position;
    y.put(i, best, position);
  }
}

// Rows whose elements lie side by side: `width` of them, `across` apart.
template <bool kSmallest, class T>
void scan_columns(const Row<T>& x, const RowResult<T>& y, const Axis& across, int64_t width) {
  T best[kColumns];
  int64_t position[kColumns] = {};
  for (int64_t j = 0; j < width; ++j) best[j] = x.data[j * across.x];
  for (int64_t i = 0; i < x.n; ++i) {
    const T* line = x.data + i * x.stride;
    T* values = y.values + i * y.value_stride;
    int64_t* indices = y.indices + i * y.index_stride;
    for (int64_t j = 0; j < width; ++j) {
      const T element = line[j * across.x];
      const bool is_next = follows<kSmallest>(element, best[j]);
      best[j] = is_next ? element : best[j];
      position[j] = is_next ? i : position[j];
      values[j * across.y] = best[j];
      indices[j * across.z] = position[j];
    }
  }
}

template <bool kSmallest, class T>
void scan(const dt_stream* stream, const calls::ExtremumScan& call) {
  const Rows rows = make_rows(call.x, &call.values, &call.indices);
  const bool is_columns =
      rows.kept.n > 0 && magnitude(rows.kept.inner().x) < magnitude(rows.along.x);
  if (!is_columns) {
    return for_each_row(stream, rows, [&](const Walk& at, int64_t) {
      scan_row<kSmallest>(row_at<T>(rows, call.x, at),
                          result_at<T>(rows, &call.values, &call.indices, at));
    });
  }
  const Axis& across = rows.kept.inner();
  const int64_t blocks = ceil_div(across.size, kColumns);
  parallel_for(stream, rows.count() / across.size * blocks, rows.elements(), [&](int64_t block) {
    Walk at(rows.kept, rows.kept.n - 1, block / blocks);
    const int64_t first = block % blocks * kColumns;
    at.x += first * across.x, at.y += first * across.y, at.z += first * across.z;
    scan_columns<kSmallest>(row_at<T>(rows, call.x, at),
                            result_at<T>(rows, &call.values, &call.indices, at), across,
                            min(kColumns, across.size - first));
  });
}

template <bool kSmallest>
int32_t scan_values(const dt_stream* stream, const calls::ExtremumScan& call) {
  if (count(call.x) == 0) return DT_KERNEL_OK;
  return visit_value(call.x.dtype, [&](auto type) {
    scan<kSmallest, Stored<typename decltype(type)::type>>(stream, call);
  });
}

}  // namespace

int32_t kernels::cummax(const dt_stream* stream, const calls::ExtremumScan& call) {
  return scan_values<false>(stream, call);
}
int32_t kernels::cummin(const dt_stream* stream, const calls::ExtremumScan& call) {
  return scan_values<true>(stream, call);
}

}  // namespace dt::cpu
