// A tiled product out[i, j] = sum over k of left(i, k) * right(j, k), for operands that are
// functions of their indices: strided matrices (matmul.cu) and images unrolled on the fly
// (conv_gemm.cu).
//
// A block computes a tile of kRows x kCols sums. It goes through k in steps: the operands' pieces
// of a step are staged in shared memory, where all threads of the block use them, and each thread
// keeps kRows x kCols / 256 sums in registers. While a step is computed the next one is on its way
// from memory to registers; two stages in shared memory make one barrier a step enough.
//
// If there are too few tiles to fill the device, k is cut into splits of a fixed length. Each split
// stores its sums, and a second kernel adds them up in order: the result does not depend on who
// finishes first.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

constexpr int kTileThreads = 256;

// kThreadRows x kThreadCols sums a thread, in groups of 4 x 4.
template <int rows, int cols, int depth, int thread_rows, int thread_cols>
struct TileShape {
  static constexpr int kRows = rows, kCols = cols, kDepth = depth;
  static constexpr int kThreadRows = thread_rows, kThreadCols = thread_cols;
  static_assert((rows / thread_rows) * (cols / thread_cols) == kTileThreads);
  static_assert(thread_rows % 4 == 0 && thread_cols % 4 == 0 && kTileThreads % depth == 0);
};
using LargeTile = TileShape<128, 64, 8, 8, 4>;
using SmallTile = TileShape<64, 64, 16, 4, 4>;

struct TileGrid {
  int64_t batch, m, n, k;
  int64_t split;  // how much of k a split computes
  int splits;
  int64_t tiles_m, tiles_n;

  __host__ __device__ int64_t outputs() const { return batch * m * n; }
};

// Where an output is, by its row-major number. 64-bit divisions cost as much as a small product.
struct Position {
  int64_t batch, i, j;

  __device__ __forceinline__ Position(const TileGrid& grid, int64_t index)
      : Position(grid.outputs(), grid.m, grid.n, index) {}
  __device__ __forceinline__ Position(int64_t total, int64_t m, int64_t n, int64_t index) {
    if (total <= UINT32_MAX) {
      const auto at = static_cast<uint32_t>(index), across = static_cast<uint32_t>(n);
      const uint32_t row = at / across, down = static_cast<uint32_t>(m);
      j = at - row * across, batch = row / down, i = row - row / down * down;
    } else {
      j = index % n, i = index / n % m, batch = index / n / m;
    }
  }
};

// How to cut a product: without scratch memory there is one split.
template <class Tile>
TileGrid tile_grid(int32_t device, int64_t batch, int64_t m, int64_t n, int64_t k, bool may_split) {
  TileGrid grid = {batch, m, n, k, k, 1, divide_up(m, Tile::kRows), divide_up(n, Tile::kCols)};
  constexpr int64_t kShortest = 64;  // a shorter split is mostly prologue
  constexpr int64_t kMostSplits = 256;
  const int64_t tiles = batch * grid.tiles_m * grid.tiles_n, wanted = 2 * multiprocessors(device);
  if (!may_split || tiles == 0 || 2 * tiles > wanted || k < 2 * kShortest) return grid;
  const int64_t splits = std::min({divide_up(wanted, tiles), k / kShortest, kMostSplits});
  grid.split = divide_up(divide_up(k, splits), Tile::kDepth) * Tile::kDepth;
  grid.splits = static_cast<int>(divide_up(k, grid.split));
  return grid;
}

// Bytes for the sums of the splits.
template <class T>
int64_t tile_workspace(const TileGrid& grid) {
  return grid.splits == 1 ? 0 : grid.splits * grid.outputs() * static_cast<int64_t>(sizeof(T));
}

// A group of four neighbours, moved by as few instructions as the type allows.
template <class T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four {
  T value[4];
};

// Of the kSize elements of a piece along one side, those of thread `id`: groups of four, so far
// apart that the threads of a warp read neighbouring groups.
template <int kSize, int kCount, class T>
__device__ __forceinline__ void read_groups(const T* line, int id, T (&to)[kCount]) {
  constexpr int kGroups = kCount / 4;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const Four<T> four = *reinterpret_cast<const Four<T>*>(line + g * (kSize / kGroups) + 4 * id);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[4 * g + i] = four.value[i];
  }
}
template <int kSize, int kCount>
__device__ __forceinline__ int group_index(int id, int i) {
  return i / 4 * (kSize / (kCount / 4)) + 4 * id + i % 4;
}

// Moves pieces of kSize x kDepth elements of one operand: memory to registers to shared memory.
// Neighbouring threads take neighbouring elements of the direction in which the operand lies in
// memory: along k or along the lines.
template <class T, int kSize, int kDepth>
struct Stager {
  static constexpr int kEach = kSize * kDepth / kTileThreads;
  // Padding spreads a column of the piece over the banks.
  static constexpr int kPitch = kSize + 4;
  static_assert(kTileThreads % kSize == 0 && kTileThreads % kDepth == 0);

  int line, k;            // the thread's first element
  int line_step, k_step;  // from one of its elements to the next
  T staged[kEach];

  __device__ __forceinline__ explicit Stager(bool along_k)
      : line(along_k ? threadIdx.x / kDepth : threadIdx.x % kSize),
        k(along_k ? threadIdx.x % kDepth : threadIdx.x / kSize),
        line_step(along_k ? kTileThreads / kDepth : 0),
        k_step(along_k ? 0 : kTileThreads / kSize) {}

  template <class Operand>
  __device__ __forceinline__ void load(const Operand& operand, int64_t line0, int64_t lines,
                                       int64_t k0, int64_t k_end) {
    const int lines_left = static_cast<int>(min(lines - line0, int64_t{kSize}));
    const int k_left = static_cast<int>(min(k_end - k0, int64_t{kDepth}));
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int l = line + i * line_step, d = k + i * k_step;
      staged[i] = l < lines_left && d < k_left ? operand(line0 + l, k0 + d) : T(0);
    }
  }
  __device__ __forceinline__ void store(T (*piece)[kPitch]) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) piece[k + i * k_step][line + i * line_step] = staged[i];
  }
};

// An operand says whether it lies `along_k` in memory, moves to a matrix by `select`, and gives
// element (line, k). The sink gets (split, batch, i, j, sum).
template <class Math, class Tile, class Left, class Right, class Sink>
__global__ __launch_bounds__(kTileThreads, 2) void tile_product(Left left, Right right, Sink sink,
                                                                TileGrid grid) {
  begin_kernel();
  using T = typename Math::Value;
  using LeftStager = Stager<T, Tile::kRows, Tile::kDepth>;
  using RightStager = Stager<T, Tile::kCols, Tile::kDepth>;
  __shared__ __align__(16) T lefts[2][Tile::kDepth][LeftStager::kPitch];
  __shared__ __align__(16) T rights[2][Tile::kDepth][RightStager::kPitch];

  const int64_t tile = blockIdx.x;
  const int64_t col0 = tile % grid.tiles_n * Tile::kCols;
  const int64_t row0 = tile / grid.tiles_n % grid.tiles_m * Tile::kRows;
  const int64_t batch = tile / grid.tiles_n / grid.tiles_m;
  const int64_t k0 = blockIdx.y * grid.split, k_end = min(grid.k, k0 + grid.split);
  left.select(batch);
  right.select(batch);

  constexpr int kLanesAcross = Tile::kCols / Tile::kThreadCols;
  const int across = threadIdx.x % kLanesAcross, down = threadIdx.x / kLanesAcross;
  T sums[Tile::kThreadRows][Tile::kThreadCols] = {};

  LeftStager left_stager(left.along_k);
  RightStager right_stager(right.along_k);
  const auto load = [&](int64_t k) {
    left_stager.load(left, row0, grid.m, k, k_end);
    right_stager.load(right, col0, grid.n, k, k_end);
  };
  const auto store = [&](int stage) {
    left_stager.store(lefts[stage]);
    right_stager.store(rights[stage]);
  };
  load(k0);
  store(0);
  __syncthreads();
  int stage = 0;
  for (int64_t k = k0; k < k_end; k += Tile::kDepth) {
    const bool more = k + Tile::kDepth < k_end;
    if (more) load(k + Tile::kDepth);
#pragma unroll
    for (int step = 0; step < Tile::kDepth; ++step) {
      T a[Tile::kThreadRows], b[Tile::kThreadCols];
      read_groups<Tile::kRows>(lefts[stage][step], down, a);
      read_groups<Tile::kCols>(rights[stage][step], across, b);
#pragma unroll
      for (int i = 0; i < Tile::kThreadRows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kThreadCols; ++j) sums[i][j] = Math::madd(a[i], b[j], sums[i][j]);
      }
    }
    stage ^= 1;
    if (more) store(stage);
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < Tile::kThreadRows; ++i) {
    const int64_t row = row0 + group_index<Tile::kRows, Tile::kThreadRows>(down, i);
#pragma unroll
    for (int j = 0; j < Tile::kThreadCols; ++j) {
      const int64_t col = col0 + group_index<Tile::kCols, Tile::kThreadCols>(across, j);
      if (row < grid.m && col < grid.n) sink(blockIdx.y, batch, row, col, sums[i][j]);
    }
  }
}

// Keeps the sums of a split until all are there.
template <class T>
struct PartialSink {
  T* sums;
  int64_t batch, m, n;

  __device__ __forceinline__ void operator()(int split, int64_t b, int64_t i, int64_t j,
                                             T sum) const {
    sums[((split * batch + b) * m + i) * n + j] = sum;
  }
};

// Adds the splits of each output in order and hands the total to the sink.
template <class T, class Sink>
__global__ __launch_bounds__(256) void add_splits(const T* sums, Sink sink, TileGrid grid) {
  begin_kernel();
  const int64_t outputs = grid.outputs();
  const int64_t index = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (index >= outputs) return;
  T total = 0;
#pragma unroll 8
  for (int s = 0; s < grid.splits; ++s) total += sums[s * outputs + index];
  const Position at(grid, index);
  sink(0, at.batch, at.i, at.j, total);
}

// Adds the splits that a kernel left in `sums`.
template <class T, class Sink>
int32_t run_add_splits(const dt_stream* stream, const T* sums, const Sink& sink,
                       const TileGrid& grid) {
  return launch(stream, add_splits<T, Sink>, static_cast<unsigned>(divide_up(grid.outputs(), 256)),
                256, 0, sums, sink, grid);
}

template <class Math, class Tile, class Left, class Right, class Sink>
int32_t launch_tiles(const dt_stream* stream, const Left& left, const Right& right,
                     const Sink& sink, const TileGrid& grid) {
  const dim3 blocks(static_cast<unsigned>(grid.batch * grid.tiles_m * grid.tiles_n), grid.splits);
  return launch(stream, tile_product<Math, Tile, Left, Right, Sink>, blocks, kTileThreads, 0, left,
                right, sink, grid);
}

// Computes a product that `grid` cuts along k; `workspace` holds tile_workspace(grid) bytes. Splits
// are added with +, so only floating types may have them.
template <class Math, class Tile, class Left, class Right, class Sink>
int32_t run_split_tiles(const dt_stream* stream, const Left& left, const Right& right,
                        const Sink& sink, const TileGrid& grid, void* workspace) {
  using T = typename Math::Value;
  T* sums = static_cast<T*>(workspace);
  const PartialSink<T> partial = {sums, grid.batch, grid.m, grid.n};
  if (const int32_t result = launch_tiles<Math, Tile>(stream, left, right, partial, grid))
    return result;
  return run_add_splits(stream, sums, sink, grid);
}

// Computes the product as `grid` says.
template <class Math, class Tile, class Left, class Right, class Sink>
int32_t run_tiles(const dt_stream* stream, const Left& left, const Right& right, const Sink& sink,
                  const TileGrid& grid, void* workspace) {
  if constexpr (std::is_floating_point_v<typename Math::Value>) {
    if (grid.splits > 1)
      return run_split_tiles<Math, Tile>(stream, left, right, sink, grid, workspace);
  }
  return launch_tiles<Math, Tile>(stream, left, right, sink, grid);
}

}  // namespace dt::cuda
