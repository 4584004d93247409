// Resampling of planes: a thread for each element of a table, or of the result.
#include "kernels/calls/vision.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"
#include "kernels/resample_taps.h"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;

// What resample::Taps or resample::Transposed writes for each of n elements.
template <class T, class Table>
__global__ void __launch_bounds__(kThreads)
    write_table(const __grid_constant__ Table table, int32_t* source, T* weight, int64_t taps,
                int64_t n) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) table.write(i, source, weight, taps, n);
}

template <class T, class Table>
int32_t run_table(const dt_stream* stream, const Table& table, const dt_view& source,
                  const dt_view& weight) {
  const int64_t n = source.sizes[1];
  return launch(stream, write_table<T, Table>, dim3(static_cast<unsigned>(divide_up(n, kThreads))),
                dim3(kThreads), 0, table, static_cast<int32_t*>(source.data),
                static_cast<T*>(weight.data), source.sizes[0], n);
}

// One dimension: its taps, or none if it stays as it is.
template <class T>
struct DimTaps {
  int64_t taps = 1, n = 0;
  const int32_t* source = nullptr;
  const T* weight = nullptr;

  DimTaps(const dt_view* sources, const dt_view* weights) {
    if (!sources) return;
    taps = sources->sizes[0], n = sources->sizes[1];
    source = static_cast<const int32_t*>(sources->data);
    weight = static_cast<const T*>(weights->data);
  }
  __device__ __forceinline__ int64_t at(int64_t k, int64_t i) const {
    return source ? source[k * n + i] : i;
  }
  __device__ __forceinline__ T by(int64_t k, int64_t i) const {
    return source ? weight[k * n + i] : T(1);
  }
};

template <class T>
struct Resampling {
  T* y;
  const T* x;
  DimTaps<Widened<T>> rows, columns;
  int64_t count, h, w, p, q;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    resample_kernel(const __grid_constant__ Resampling<T> call) {
  begin_kernel();
  const int64_t element = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (element >= call.count) return;
  const int64_t j = element % call.q, line = element / call.q, i = line % call.p;
  const T* plane = call.x + line / call.p * call.h * call.w;
  Widened<T> sum = 0;
  for (int64_t r = 0; r < call.rows.taps; ++r) {
    const int64_t row = call.rows.at(r, i);
    if (row < 0) break;
    Widened<T> of_row = 0;
    for (int64_t s = 0; s < call.columns.taps; ++s) {
      const int64_t column = call.columns.at(s, j);
      if (column < 0) break;
      of_row += call.columns.by(s, j) * static_cast<Widened<T>>(plane[row * call.w + column]);
    }
    sum += call.rows.by(r, i) * of_row;
  }
  call.y[element] = static_cast<T>(sum);
}

}  // namespace

int32_t kernels::resample_taps(const dt_stream* stream, const calls::ResampleTaps& call) {
  return visit_floating(call.weight.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const resample::Taps<T> taps = {call.size, call.reach, call.align_corners, call.antialias,
                                    static_cast<T>(call.step)};
    return run_table<T>(stream, taps, call.source, call.weight);
  });
}

int32_t kernels::transpose_taps(const dt_stream* stream, const calls::TransposeTaps& call) {
  return visit_floating(call.weight.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const resample::Transposed<T> table = {static_cast<const int32_t*>(call.of_source.data),
                                           static_cast<const T*>(call.of_weight.data),
                                           call.of_source.sizes[0], call.of_source.sizes[1]};
    return run_table<T>(stream, table, call.source, call.weight);
  });
}

int32_t kernels::resample(const dt_stream* stream, const calls::Resample& call) {
  return visit_stored_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const dt_view &x = call.x, &y = call.y;
    const Resampling<T> kernel = {static_cast<T*>(y.data),
                                  static_cast<const T*>(x.data),
                                  DimTaps<Widened<T>>(call.row_source, call.row_weight),
                                  DimTaps<Widened<T>>(call.column_source, call.column_weight),
                                  numel(y),
                                  x.sizes[1],
                                  x.sizes[2],
                                  y.sizes[1],
                                  y.sizes[2]};
    return launch(stream, resample_kernel<T>,
                  dim3(static_cast<unsigned>(divide_up(kernel.count, kThreads))), dim3(kThreads), 0,
                  kernel);
  });
}

}  // namespace dt::cuda
