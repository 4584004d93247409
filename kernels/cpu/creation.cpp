// Tensors from nothing: ranges.
#include "kernels/calls/creation.gen.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/workers.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kChunk = 512;

// Fills a 1-d view of any dtype from value(i), which gives a T. Where that is a float, i is a
// double: vectors of 64-bit integers become floats one by one, but exact sums of doubles are whole
// vectors.
template <class T, class Value>
void fill(const dt_stream* stream, const dt_view& y, const Value& value) {
  const int64_t n = count(y), bytes = bytes_of(y.dtype);
  const int64_t stride = y.ndim == 0 ? 1 : y.strides[0];
  const bool is_direct = y.dtype == dtype_of<T> && (stride == 1 || n == 1);
  TileFunction* const convert = conversion(dtype_of<T>, y.dtype);
  const int64_t chunks = ceil_div(n, kChunk);
  const int64_t tasks = worth_threads(stream, n) ? ceil_div(chunks, 32) : 1;
  const auto run = [&](int64_t task) {
    for (int64_t c = chunks * task / tasks; c < chunks * (task + 1) / tasks; ++c) {
      T buffer[kChunk];
      const int64_t start = c * kChunk, m = min(kChunk, n - start);
      T* const values = is_direct ? data<T>(y) + start : buffer;
      const auto first = static_cast<std::conditional_t<kIsFloating<T>, double, int64_t>>(start);
      for (int32_t i = 0; i < static_cast<int32_t>(m); ++i) values[i] = value(first + i);
      if (is_direct) continue;
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
  const auto last = static_cast<double>(n - 1), half = static_cast<double>(n == 1 ? 1 : n / 2);
  fill<T>(stream, y, [=](double i) {
    return i < half ? start + step * static_cast<T>(i) : end - step * static_cast<T>(last - i);
  });
}

}  // namespace

int32_t kernels::arange(const dt_stream* stream, const calls::Arange& call) {
  if (is_floating(call.y.dtype)) {
    const double start = call.start, step = call.step;
    fill<double>(stream, call.y, [=](double i) { return start + i * step; });
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

}  // namespace dt::cpu
