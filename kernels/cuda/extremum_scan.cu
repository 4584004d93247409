// cummax and cummin: the best element of each row so far, and the position of the last one that
// equals it. A long row has a block, which goes through it tile by tile, a short one a thread.
#include <cub/block/block_scan.cuh>

#include "kernels/calls/sorting.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kLongRow = 128;
constexpr int64_t kMaxBlocks = 65536;

template <class T>
struct Best {
  T value;
  int64_t position;
};

// `b` comes later. Nothing but another NaN takes the place of a NaN.
template <bool kSmallest>
struct Later {
  template <class T>
  __device__ __forceinline__ Best<T> operator()(const Best<T>& a, const Best<T>& b) const {
    const bool is_better = kSmallest ? b.value <= a.value : b.value >= a.value;
    return is_better || b.value != b.value ? b : a;
  }
};

template <class T>
struct Scan {
  T* values;
  int64_t* indices;
  const T* x;
  Rows rows;
};

template <bool kSmallest, class T>
__global__ void __launch_bounds__(kThreads) scan_long(const __grid_constant__ Scan<T> scan) {
  begin_kernel();
  using Block = cub::BlockScan<Best<T>, kThreads>;
  __shared__ typename Block::TempStorage shared;
  __shared__ Best<T> carried;
  const Rows& rows = scan.rows;
  const Later<kSmallest> later;
  for (int64_t row = blockIdx.x; row < rows.count; row += gridDim.x) {
    int64_t offset[3];
    rows.kept.at(static_cast<uint64_t>(row), offset);
    const T* x = scan.x + offset[0];
    for (int64_t tile = 0; tile < rows.n; tile += kThreads) {
      const int64_t i = tile + threadIdx.x, from = i < rows.n ? i : rows.n - 1;
      Best<T> best = {x[from * rows.x_stride], from};
      Block(shared).InclusiveScan(best, best, later);
      if (tile > 0) best = later(carried, best);
      __syncthreads();
      if (threadIdx.x == kThreads - 1) carried = best;
      __syncthreads();
      if (i >= rows.n) continue;
      scan.values[offset[1] + i * rows.value_stride] = best.value;
      scan.indices[offset[2] + i * rows.index_stride] = best.position;
    }
  }
}

template <bool kSmallest, class T>
__global__ void __launch_bounds__(kThreads) scan_short(const __grid_constant__ Scan<T> scan) {
  begin_kernel();
  const Rows& rows = scan.rows;
  const int64_t row = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= rows.count) return;
  int64_t offset[3];
  rows.kept.at(static_cast<uint64_t>(row), offset);
  const Later<kSmallest> later;
  Best<T> best = {scan.x[offset[0]], 0};
  for (int64_t i = 0; i < rows.n; ++i) {
    best = later(best, Best<T>{scan.x[offset[0] + i * rows.x_stride], i});
    scan.values[offset[1] + i * rows.value_stride] = best.value;
    scan.indices[offset[2] + i * rows.index_stride] = best.position;
  }
}

template <bool kSmallest>
int32_t scan_rows(const dt_stream* stream, const calls::ExtremumScan& call) {
  const Rows rows(call.x, &call.values, &call.indices);
  if (rows.count * rows.n == 0) return DT_KERNEL_OK;
  return visit_value(call.x.dtype, [&](auto type) -> int32_t {
    using T = typename decltype(type)::type;
    const Scan<T> scan = {static_cast<T*>(call.values.data),
                          static_cast<int64_t*>(call.indices.data),
                          static_cast<const T*>(call.x.data), rows};
    if (rows.n >= kLongRow) {
      const int64_t blocks = rows.count < kMaxBlocks ? rows.count : kMaxBlocks;
      return launch(stream, scan_long<kSmallest, T>, dim3(static_cast<unsigned>(blocks)),
                    dim3(kThreads), 0, scan);
    }
    return launch(stream, scan_short<kSmallest, T>,
                  dim3(static_cast<unsigned>(divide_up(rows.count, kThreads))), dim3(kThreads), 0,
                  scan);
  });
}

}  // namespace

int32_t kernels::cummax(const dt_stream* stream, const calls::ExtremumScan& call) {
  return scan_rows<false>(stream, call);
}
int32_t kernels::cummin(const dt_stream* stream, const calls::ExtremumScan& call) {
  return scan_rows<true>(stream, call);
}

}  // namespace dt::cuda
