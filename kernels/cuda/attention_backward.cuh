// What attention's kernels of gradients share: what a query's row is known by, and what is wanted.
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_dropout.cuh"
#include "kernels/cuda/scratch.h"

namespace dt::cuda {

// Of each query: the logarithm of its row's sum of exponentials, in units of log2(e), and the sum
// of g * y. Heads have room for whole blocks of queries; what is more weighs nothing. Of a tile of
// queries: how many blocks have added to their gradient, where they do so one after the other.
struct RowStatistics {
  static constexpr int kMost = 128;  // rows of a block
  static constexpr int kTile = 64;

  float *lse, *delta;
  int* blocks_added;
  int rows;  // from one head to the next
  int64_t bytes;

  RowStatistics(void* workspace, const dt_view& query)
      : rows(static_cast<int>(divide_up(query.sizes[2], kMost) * kMost)) {
    Scratch scratch(workspace);
    const int64_t count = query.sizes[0] * query.sizes[1] * rows;
    lse = scratch.take<float>(count);
    delta = scratch.take<float>(count);
    blocks_added = scratch.take<int>(count / kTile);
    bytes = scratch.used();
  }
  __device__ int64_t at(int b, int h, int heads) const { return (int64_t{b} * heads + h) * rows; }
};

constexpr int kStatisticsThreads = 128, kStatisticsLanes = 8,
              kStatisticsRows = kStatisticsThreads / kStatisticsLanes;

// kStatisticsLanes to each row.
template <class T>
__global__ void __launch_bounds__(kStatisticsThreads)
    attention_statistics(RowStatistics to, const float* lse, HeadMatrices<const T> g,
                         HeadMatrices<const T> y) {
  const int row = blockIdx.x * kStatisticsRows + threadIdx.x / kStatisticsLanes, h = blockIdx.y,
            b = blockIdx.z, heads = gridDim.y;
  const int lane = threadIdx.x % kStatisticsLanes;
  const bool exists = row < g.rows;
  begin_kernel();
  const T *const from_g = g.at(b, h, row), *const from_y = y.at(b, h, row);
  float sum = 0;
  const auto add = [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
#pragma unroll 4
    for (int j = lane * kWidth; exists && j < g.features; j += kStatisticsLanes * kWidth) {
      const auto some_g = load_packet<kWidth>(from_g + j), some_y = load_packet<kWidth>(from_y + j);
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        sum += static_cast<float>(some_g.value[i]) * static_cast<float>(some_y.value[i]);
    }
  };
  if (g.has_packets && y.has_packets)
    add(std::integral_constant<int, kPacketWidth<T>>());
  else
    add(std::integral_constant<int, 1>());
#pragma unroll
  for (int distance = kStatisticsLanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(~0u, sum, distance);
  if (lane != 0) return;
  const int64_t at = to.at(b, h, heads) + row;
  if (row % RowStatistics::kTile == 0) to.blocks_added[at / RowStatistics::kTile] = 0;
  to.delta[at] = sum;
  to.lse[at] = exists ? lse[(int64_t{b} * heads + h) * g.rows + row] * kLog2E : INFINITY;
}

template <class T>
int32_t take_statistics(const dt_stream* stream, const calls::AttentionBackward& call,
                        const RowStatistics& to) {
  const dt_view& q = call.query;
  const dim3 grid(static_cast<unsigned>(to.rows / kStatisticsRows),
                  static_cast<unsigned>(q.sizes[1]), static_cast<unsigned>(q.sizes[0]));
  return launch(stream, attention_statistics<T>, grid, kStatisticsThreads, 0, to,
                static_cast<const float*>(call.lse.data), HeadMatrices<const T>(call.g),
                HeadMatrices<const T>(call.y));
}

// Gradients that are not wanted have no data.
template <class T>
struct Gradients {
  HeadMatrices<T> query, key, value;

  explicit Gradients(const calls::AttentionBackward& call)
      : query(matrices_or_none(call.gquery, call.query)),
        key(matrices_or_none(call.gkey, call.key)),
        value(matrices_or_none(call.gvalue, call.value)) {}

 private:
  static HeadMatrices<T> matrices_or_none(const dt_view* v, const dt_view& like) {
    HeadMatrices<T> matrices(v ? *v : like);
    if (!v) matrices.data = nullptr;
    return matrices;
  }
};

}  // namespace dt::cuda
