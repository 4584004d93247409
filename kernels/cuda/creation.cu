// Tensors from nothing: ranges.
#include "kernels/calls/creation.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

// Multiplication and addition are rounded one by one, as on the CPU, whose numbers these are.
struct IntegerRange {
  using Value = int64_t;
  int64_t start, step;
  __device__ int64_t at(int64_t i) const { return start + i * step; }
};

struct DoubleRange {
  using Value = double;
  double start, step;
  __device__ double at(int64_t i) const {
    return __dadd_rn(start, __dmul_rn(static_cast<double>(i), step));
  }
};

__device__ __forceinline__ float from_end(float end, float step, float i) {
  return __fadd_rn(end, __fmul_rn(step, i));
}
__device__ __forceinline__ double from_end(double end, double step, double i) {
  return __dadd_rn(end, __dmul_rn(step, i));
}

// From the nearer end, so that both ends are exact.
template <class T>
struct Linspace {
  using Value = T;
  T start, end, step;
  int64_t n;
  __device__ T at(int64_t i) const {
    return i < n / 2 || n == 1 ? from_end(start, step, static_cast<T>(i))
                               : from_end(end, -step, static_cast<T>(n - 1 - i));
  }
};

template <class Values>
__global__ void __launch_bounds__(kThreads)
    range_kernel(void* y, int32_t dtype, int64_t stride, int64_t n, Values values) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) store_as(y, dtype, i * stride, values.at(i));
}

template <class Values>
int32_t fill_range(const dt_stream* stream, const dt_view& y, const Values& values) {
  const int64_t n = numel(y), stride = y.ndim == 0 ? 1 : y.strides[0];
  return launch(stream, range_kernel<Values>, dim3(static_cast<unsigned>(divide_up(n, kThreads))),
                dim3(kThreads), 0, y.data, y.dtype, stride, n, values);
}

// Steps in the arithmetic of the result.
template <class T>
Linspace<T> between(int64_t n, T start, T end) {
  return {start, end, n > 1 ? (end - start) / static_cast<T>(n - 1) : T(0), n};
}

}  // namespace

int32_t kernels::arange(const dt_stream* stream, const calls::Arange& call) {
  if (is_floating(call.y.dtype))
    return fill_range(stream, call.y, DoubleRange{call.start, call.step});
  return fill_range(stream, call.y, IntegerRange{call.integer_start, call.integer_step});
}

int32_t kernels::linspace(const dt_stream* stream, const calls::Linspace& call) {
  const dt_view& y = call.y;
  const int64_t n = numel(y);
  const double start = call.start, end = call.end;
  return visit_value(y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsFloating<T>) {
      return fill_range(stream, y, between<T>(n, static_cast<T>(start), static_cast<T>(end)));
    } else {
      // Integers are taken between integer ends.
      return fill_range(stream, y,
                        between<double>(n, __builtin_trunc(start), __builtin_trunc(end)));
    }
  });
}

}  // namespace dt::cuda
