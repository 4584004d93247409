// Windows that overlap, added up where they lie: a thread has an element of y, and reads what the
// windows that it is part of have for it. Nothing is written twice, in one order.
#include "kernels/cuda/pool_window.cuh"
#include "kernels/slide.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

template <class Int>
struct Sums {
  Slide<Int> rows, columns;
  Divider<Int> by_together, by_columns, by_rows, by_inner;
  Int together, inner;
  int64_t step[7];  // x's

  explicit Sums(const calls::AddWindows& call)
      : rows(call, 0),
        columns(call, 1),
        by_together(call.y.sizes[4]),
        by_columns(call.y.sizes[3]),
        by_rows(call.y.sizes[2]),
        by_inner(call.y.sizes[1]),
        together(static_cast<Int>(call.y.sizes[4])),
        inner(static_cast<Int>(call.y.sizes[1])) {
    for (int d = 0; d < 7; ++d) step[d] = call.x.strides[d];
  }
};

// What is left of `i` is its remainder.
template <class Int>
__device__ __forceinline__ Int divide(Int* i, const Divider<Int>& by, Int size) {
  const Int quotient = by(*i);
  *i -= quotient * size;
  return quotient;
}

template <class T, class Int>
__global__ void __launch_bounds__(kThreads)
    add_windows_kernel(T* y, const T* x, int64_t n, const __grid_constant__ Sums<Int> call) {
  begin_kernel();
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= n) return;
  Int c = static_cast<Int>(at), j = divide(&c, call.by_together, call.together),
      i = divide(&j, call.by_columns, call.columns.size),
      b = divide(&i, call.by_rows, call.rows.size), a = divide(&b, call.by_inner, call.inner);
  x += a * call.step[0] + b * call.step[1] + c * call.step[6];
  T sum = 0;
  call.rows.for_each_at(i, [&](Int r, Int u) {
    const T* const row = x + r * call.step[2] + u * call.step[4];
    call.columns.for_each_at(
        j, [&](Int s, Int v) { sum += row[s * call.step[3] + v * call.step[5]]; });
  });
  y[at] = sum;
}

template <class T, class Int>
int32_t add(const dt_stream* stream, const calls::AddWindows& call) {
  const int64_t n = numel(call.y);
  return launch(stream, add_windows_kernel<T, Int>,
                dim3(static_cast<unsigned>(divide_up(n, kThreads))), dim3(kThreads), 0,
                static_cast<T*>(call.y.data), static_cast<const T*>(call.x.data), n,
                Sums<Int>(call));
}

}  // namespace

int32_t kernels::add_windows(const dt_stream* stream, const calls::AddWindows& call) {
  if (numel(call.y) == 0) return DT_KERNEL_OK;
  return visit_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    // Places outside may lie as far as the windows reach.
    constexpr int64_t kSmall = int64_t{1} << 30;
    bool is_small = numel(call.y) < kSmall;
    for (int d = 0; d < 2; ++d) {
      is_small &= call.padding[d] + call.y.sizes[2 + d] < kSmall &&
                  call.x.sizes[2 + d] < kSmall / call.dilation[d] && call.stride[d] < kSmall;
    }
    return is_small ? add<T, int32_t>(stream, call) : add<T, int64_t>(stream, call);
  });
}

}  // namespace dt::cuda
