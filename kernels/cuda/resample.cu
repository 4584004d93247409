// Resampling of planes: a thread for each element of a table; of the result a thread has some,
// whose columns it looks up once.
#include <algorithm>

#include "kernels/calls/vision.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
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
  int32_t taps = 1, n = 0;
  const int32_t* source = nullptr;
  const T* weight = nullptr;

  DimTaps(const dt_view* sources, const dt_view* weights) {
    if (!sources) return;
    taps = static_cast<int32_t>(sources->sizes[0]), n = static_cast<int32_t>(sources->sizes[1]);
    source = static_cast<const int32_t*>(sources->data);
    weight = static_cast<const T*>(weights->data);
  }
  // -1 if element i has no tap k.
  __device__ __forceinline__ int32_t at(int32_t k, int32_t i) const {
    return source ? source[int64_t{k} * n + i] : i;
  }
  __device__ __forceinline__ T by(int32_t k, int32_t i) const {
    return source ? weight[int64_t{k} * n + i] : T(1);
  }
};

constexpr int64_t kMostPlaces = INT32_MAX / 2;  // rows and columns, which are counted in 32 bits
constexpr int kLines = 8;                       // of a thread
constexpr uint32_t kMostAcross = 32;            // threads

// The columns of a thread: as many as registers have room for their taps.
template <int kTaps>
constexpr int kColumnsOf = kTaps == 2   ? 4
                           : kTaps == 4 ? 2
                                        : 1;

// A block has a tile of the result: `across` threads side by side, each of which has columns so far
// apart and lines below each other.
template <class T>
struct Resampling {
  T* y;
  const T* x;
  DimTaps<Widened<T>> rows, columns;
  int64_t lines, p;
  int32_t h, w, q;
  FastDivide by_lines;  // of a plane
  uint32_t across, tiles_across;

  int64_t tile_lines() const { return int64_t{kThreads} / across * kLines; }
};

// The taps of a column, which all lines have in common: in registers, or, if kTaps is 0, which
// stands for any number, in memory.
template <class T, int kTaps>
struct ColumnTaps {
  int32_t source[kTaps];
  T weight[kTaps];

  ColumnTaps() = default;
  __device__ __forceinline__ ColumnTaps(const DimTaps<T>& columns, int32_t j) {
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      source[k] = k < columns.taps ? columns.at(k, j) : -1;
      weight[k] = source[k] < 0 ? T(0) : columns.by(k, j);
    }
  }
  template <class X>
  __device__ __forceinline__ T sum(const X* line) const {
    T sum = 0;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      const X x = source[k] < 0 ? X() : line[source[k]];
      sum = source[k] < 0 ? sum : sum + weight[k] * static_cast<T>(x);
    }
    return sum;
  }
};

template <class T>
struct ColumnTaps<T, 0> {
  const DimTaps<T>* columns;
  int32_t j;

  ColumnTaps() = default;
  __device__ __forceinline__ ColumnTaps(const DimTaps<T>& columns, int32_t j)
      : columns(&columns), j(j) {}
  template <class X>
  __device__ __forceinline__ T sum(const X* line) const {
    T sum = 0;
    for (int32_t k = 0; k < columns->taps; ++k) {
      const int32_t source = columns->at(k, j);
      if (source < 0) break;
      sum += columns->by(k, j) * static_cast<T>(line[source]);
    }
    return sum;
  }
};

template <class T, int kTaps>
__global__ void __launch_bounds__(kThreads)
    resample_kernel(const __grid_constant__ Resampling<T> call) {
  begin_kernel();
  constexpr int kColumns = kColumnsOf<kTaps>;
  using Taps = ColumnTaps<Widened<T>, kTaps>;
  const uint32_t tile = blockIdx.x / call.tiles_across, per_step = kThreads / call.across;
  const uint32_t row = threadIdx.x / call.across, lane = threadIdx.x - row * call.across;
  const uint32_t first_column = (blockIdx.x - tile * call.tiles_across) * call.across * kColumns;
  const int32_t last = call.q - 1;  // what is behind it is computed like it, and not written
  int32_t j[kColumns];
  Taps columns[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    j[c] = static_cast<int32_t>(first_column + c * call.across + lane);
    columns[c] = Taps(call.columns, min(j[c], last));
  }
  const int64_t first = int64_t{tile} * per_step * kLines, first_plane = first / call.p;
  const auto first_in_plane = static_cast<uint32_t>(first - first_plane * call.p);
  const int64_t plane_elements = int64_t{call.h} * call.w;
#pragma unroll 1
  for (uint32_t below = row; below < per_step * kLines; below += per_step) {
    if (first + below >= call.lines) return;
    const uint32_t line = first_in_plane + below, further = call.by_lines.divide(line);
    const auto i = static_cast<int32_t>(line - further * call.by_lines.divisor);
    const T* const plane = call.x + (first_plane + further) * plane_elements;
    Widened<T> sum[kColumns] = {};
    for (int32_t r = 0; r < call.rows.taps; ++r) {
      const int32_t at = call.rows.at(r, i);
      if (at < 0) break;
      const Widened<T> by = call.rows.by(r, i);
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        sum[c] += by * columns[c].sum(plane + int64_t{at} * call.w);
    }
    T* const y = call.y + (first + below) * call.q;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      if (j[c] <= last) y[j[c]] = static_cast<T>(sum[c]);
    }
  }
}

template <class T, int kTaps>
int32_t run_taps(const dt_stream* stream, Resampling<T> call) {
  constexpr int kColumns = kColumnsOf<kTaps>;
  call.across = 1;
  while (call.across < kMostAcross && int64_t{call.across} * kColumns < call.q) call.across *= 2;
  call.tiles_across = static_cast<uint32_t>(divide_up(call.q, int64_t{call.across} * kColumns));
  const int64_t blocks = call.tiles_across * divide_up(call.lines, call.tile_lines());
  return launch(stream, resample_kernel<T, kTaps>, dim3(static_cast<unsigned>(blocks)),
                dim3(kThreads), 0, call);
}

template <class T>
int32_t run_resampling(const dt_stream* stream, const Resampling<T>& call) {
  const int32_t taps = call.columns.taps;
  if (taps <= 2) return run_taps<T, 2>(stream, call);
  if (taps <= 4) return run_taps<T, 4>(stream, call);
  if (taps <= 8) return run_taps<T, 8>(stream, call);
  return run_taps<T, 0>(stream, call);
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
  return visit_stored_floating(call.y.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    const dt_view &x = call.x, &y = call.y;
    if (std::max({x.sizes[1], x.sizes[2], y.sizes[1], y.sizes[2]}) > kMostPlaces)
      return DT_KERNEL_UNSUPPORTED;
    const Resampling<T> resampling = {static_cast<T*>(y.data),
                                      static_cast<const T*>(x.data),
                                      DimTaps<Widened<T>>(call.row_source, call.row_weight),
                                      DimTaps<Widened<T>>(call.column_source, call.column_weight),
                                      y.sizes[0] * y.sizes[1],
                                      y.sizes[1],
                                      static_cast<int32_t>(x.sizes[1]),
                                      static_cast<int32_t>(x.sizes[2]),
                                      static_cast<int32_t>(y.sizes[2]),
                                      FastDivide(static_cast<uint32_t>(y.sizes[1])),
                                      1,
                                      1};
    return run_resampling(stream, resampling);
  });
}

}  // namespace dt::cuda
