// cummax and cummin: the best element of each row so far, and the position of the last one that
// equals it. A long row has a block, which goes through it tile by tile, a short one a thread; very
// long ones, where they are few, are cut into chunks, whose best elements are found first.
#include <algorithm>

#include <cub/block/block_scan.cuh>

#include "kernels/calls/sorting.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kLongRow = 128;
constexpr int64_t kMaxBlocks = 65536;
constexpr int64_t kManyBlocks = 1024;
constexpr int64_t kLeastChunk = 8 * kThreads;

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

struct Chunks {
  int64_t count = 1, length;  // of a row

  explicit Chunks(const Rows& rows) : length(rows.n) {
    const int64_t wanted = rows.count > 0 ? kManyBlocks / rows.count : 1;
    if (wanted < 2 || rows.n < 2 * kLeastChunk) return;
    length = std::max(divide_up(divide_up(rows.n, wanted), kThreads) * kThreads, kLeastChunk);
    count = divide_up(rows.n, length);
  }
};

template <class T>
struct Scan {
  T* values;
  int64_t* indices;
  const T* x;
  Rows rows;
  Chunks chunks;
  Best<T>* totals;  // [rows][chunks]
};

// The best of the chunks before this one, of which there is one at least. Each thread has
// neighbours among them.
template <bool kSmallest, class T, class Block>
__device__ __forceinline__ Best<T> best_before(const Best<T>* totals, int64_t chunk,
                                               typename Block::TempStorage& shared) {
  const Later<kSmallest> later;
  const int64_t each = (chunk + kThreads - 1) / kThreads;
  const int64_t first = min(threadIdx.x * each, chunk - 1), end = min(first + each, chunk);
  Best<T> best = totals[first], all;
  for (int64_t i = first + 1; i < end; ++i) best = later(best, totals[i]);
  Block(shared).InclusiveScan(best, best, later, all);
  __syncthreads();
  return all;
}

// kTotal: finds the best elements of chunks alone.
template <bool kSmallest, bool kTotal, class T>
__global__ void __launch_bounds__(kThreads) scan_long(const __grid_constant__ Scan<T> scan) {
  begin_kernel();
  using Block = cub::BlockScan<Best<T>, kThreads>;
  __shared__ typename Block::TempStorage shared;
  const Rows& rows = scan.rows;
  const Chunks& chunks = scan.chunks;
  const Later<kSmallest> later;
  for (int64_t part = blockIdx.x; part < rows.count * chunks.count; part += gridDim.x) {
    const int64_t row = part / chunks.count, chunk = part % chunks.count;
    const int64_t begin = chunk * chunks.length, end = min(rows.n, begin + chunks.length);
    int64_t offset[3];
    rows.kept.at(static_cast<uint64_t>(row), offset);
    const T* x = scan.x + offset[0];
    Best<T> carried = {};
    if (!kTotal && chunk > 0)
      carried = best_before<kSmallest, T, Block>(scan.totals + row * chunks.count, chunk, shared);
    for (int64_t tile = begin; tile < end; tile += kThreads) {
      const int64_t i = tile + threadIdx.x, from = i < end ? i : end - 1;
      Best<T> best = {x[from * rows.x_stride], from}, all;
      Block(shared).InclusiveScan(best, best, later, all);
      __syncthreads();
      const bool is_first = tile == 0 || (kTotal && tile == begin);
      if (!is_first) best = later(carried, best);
      carried = is_first ? all : later(carried, all);
      if (kTotal || i >= end) continue;
      scan.values[offset[1] + i * rows.value_stride] = best.value;
      scan.indices[offset[2] + i * rows.index_stride] = best.position;
    }
    if (kTotal && threadIdx.x == 0) scan.totals[part] = carried;
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
                          static_cast<const T*>(call.x.data),
                          rows,
                          Chunks(rows),
                          static_cast<Best<T>*>(call.workspace)};
    if (rows.n >= kLongRow) {
      const int64_t parts = rows.count * scan.chunks.count;
      const auto blocks = static_cast<unsigned>(std::min(parts, kMaxBlocks));
      if (scan.chunks.count > 1) {
        if (const int32_t code = launch(stream, scan_long<kSmallest, true, T>, dim3(blocks),
                                        dim3(kThreads), 0, scan))
          return code;
      }
      return launch(stream, scan_long<kSmallest, false, T>, dim3(blocks), dim3(kThreads), 0, scan);
    }
    return launch(stream, scan_short<kSmallest, T>,
                  dim3(static_cast<unsigned>(divide_up(rows.count, kThreads))), dim3(kThreads), 0,
                  scan);
  });
}

int64_t bytes_of_totals(const calls::ExtremumScan& call) {
  const Rows rows(call.x, &call.values, &call.indices);
  const int64_t chunks = Chunks(rows).count;
  return chunks > 1 ? rows.count * chunks * static_cast<int64_t>(sizeof(Best<double>)) : 0;
}

}  // namespace

int32_t kernels::cummax(const dt_stream* stream, const calls::ExtremumScan& call) {
  return scan_rows<false>(stream, call);
}
int32_t kernels::cummin(const dt_stream* stream, const calls::ExtremumScan& call) {
  return scan_rows<true>(stream, call);
}

int64_t kernels::cummax_workspace(const dt_stream*, const calls::ExtremumScan& call) {
  return bytes_of_totals(call);
}
int64_t kernels::cummin_workspace(const dt_stream*, const calls::ExtremumScan& call) {
  return bytes_of_totals(call);
}

}  // namespace dt::cuda
