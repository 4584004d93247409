// Products of many small matrices. A library's tiles are larger than they are, and a thread for
// each element would read every factor as often as the product has columns or rows.
//
// A block takes whole matrices: it copies their factors to shared memory, in the order in which
// they lie there, and each thread adds up a few elements of the product, whose rows and columns are
// far apart: so neighbouring threads read neighbours from shared memory and store neighbours.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/product_operands.cuh"
#include "kernels/cuda/product_tile.cuh"

namespace dt::cuda {
namespace {

constexpr int kBatchedThreads = 256;
constexpr int kBatchedRows = 2, kBatchedCols = 4;  // of a product, that a thread has
constexpr int64_t kBatchedBytes = 16 << 10;  // of factors, that a block has, if they are small

// Where the elements of one factor lie, as a block counts them, and where they go.
struct FactorCopy {
  FastDivide of_matrix, of_line;  // elements, and neighbours in memory
  uint32_t lines, depth, pitch;
  bool along_k;

  FactorCopy(int64_t lines_, int64_t depth_, bool along_k_)
      : of_matrix(static_cast<uint32_t>(lines_ * depth_)),
        of_line(static_cast<uint32_t>(along_k_ ? depth_ : lines_)),
        lines(static_cast<uint32_t>(lines_)),
        depth(static_cast<uint32_t>(depth_)),
        pitch(static_cast<uint32_t>(lines_ | 1)),  // odd: steps of k are in different banks
        along_k(along_k_) {}

  __host__ __device__ uint32_t elements() const { return depth * pitch; }
};

struct BatchedPlan {
  FactorCopy left, right;
  FastDivide tiles, tile_cols;  // of a product; side by side
  uint32_t row_step, col_step;  // between the rows and the columns of a thread
  uint32_t matrices;            // of a block

  BatchedPlan(const MatrixProduct& p, int64_t item_bytes)
      : left(p.m, p.k, p.a.col == 1), right(p.n, p.k, p.b.row == 1) {
    row_step = static_cast<uint32_t>(divide_up(p.m, kBatchedRows));
    col_step = static_cast<uint32_t>(divide_up(p.n, kBatchedCols));
    tiles = FastDivide(row_step * col_step);
    tile_cols = FastDivide(col_step);
    const int64_t room = kBatchedBytes / (floats() * item_bytes);
    const int64_t busy = kBatchedThreads / int64_t{tiles.divisor};
    matrices = static_cast<uint32_t>(std::max<int64_t>(1, std::min({room, busy, p.batch})));
  }
  int64_t floats() const { return int64_t{left.elements()} + right.elements(); }
};

// The factors of matrices first, first + 1, ..., each depth x lines in shared memory.
template <class T>
__device__ __forceinline__ void copy_factors(T* to, const FactorLines<T>& from,
                                             const FactorCopy& copy, int64_t first,
                                             uint32_t matrices, uint32_t apart) {
  const uint32_t count = matrices * copy.of_matrix.divisor;
#pragma unroll 4
  for (uint32_t e = threadIdx.x; e < count; e += kBatchedThreads) {
    const uint32_t matrix = copy.of_matrix.divide(e), at = e - matrix * copy.of_matrix.divisor;
    const uint32_t outer = copy.of_line.divide(at), inner = at - outer * copy.of_line.divisor;
    const uint32_t line = copy.along_k ? outer : inner, k = copy.along_k ? inner : outer;
    to[matrix * apart + k * copy.pitch + line] =
        from.data[(first + matrix) * from.batch + line * from.line + k * from.step];
  }
}

template <class Math, class T = typename Math::Value>
__global__ void __launch_bounds__(kBatchedThreads)
    batched_product(FactorLines<T> left, FactorLines<T> right, ActivatingStore<Math> store,
                    const __grid_constant__ BatchedPlan plan, int64_t batch, uint32_t m,
                    uint32_t n) {
  begin_kernel();
  extern __shared__ double memory[];  // aligned for every type
  T* const factors = reinterpret_cast<T*>(memory);
  const uint32_t right_at = plan.left.elements(), apart = right_at + plan.right.elements();
  const int64_t first = int64_t{blockIdx.x} * plan.matrices;
  const auto matrices =
      static_cast<uint32_t>(min(static_cast<int64_t>(plan.matrices), batch - first));
  copy_factors(factors, left, plan.left, first, matrices, apart);
  copy_factors(factors + right_at, right, plan.right, first, matrices, apart);
  __syncthreads();

  const uint32_t tiles = matrices * plan.tiles.divisor;
  for (uint32_t t = threadIdx.x; t < tiles; t += kBatchedThreads) {
    const uint32_t matrix = plan.tiles.divide(t), tile = t - matrix * plan.tiles.divisor;
    const uint32_t i0 = plan.tile_cols.divide(tile), j0 = tile - i0 * plan.tile_cols.divisor;
    const T *a = factors + matrix * apart, *b = a + right_at;
    T sums[kBatchedRows][kBatchedCols] = {};
    for (uint32_t k = 0; k < plan.left.depth; ++k, a += plan.left.pitch, b += plan.right.pitch) {
      T row[kBatchedRows], column[kBatchedCols];
      // What is beyond the matrix is another number of this block's; nobody stores what it gives.
#pragma unroll
      for (int r = 0; r < kBatchedRows; ++r) row[r] = a[min(i0 + r * plan.row_step, m - 1)];
#pragma unroll
      for (int c = 0; c < kBatchedCols; ++c) column[c] = b[min(j0 + c * plan.col_step, n - 1)];
#pragma unroll
      for (int r = 0; r < kBatchedRows; ++r) {
#pragma unroll
        for (int c = 0; c < kBatchedCols; ++c)
          sums[r][c] = Math::madd(row[r], column[c], sums[r][c]);
      }
    }
#pragma unroll
    for (int r = 0; r < kBatchedRows; ++r) {
#pragma unroll
      for (int c = 0; c < kBatchedCols; ++c) {
        const uint32_t i = i0 + r * plan.row_step, j = j0 + c * plan.col_step;
        if (i < m && j < n) store(0, first + matrix, i, j, sums[r][c]);
      }
    }
  }
}

// Shared memory that every device gives without being asked.
bool fits_batched(const MatrixProduct& p, int64_t item_bytes) {
  constexpr int64_t kShared = 48 << 10, kLongest = 128;
  return p.m <= kLongest && p.n <= kLongest && p.k <= kLongest &&
         BatchedPlan(p, item_bytes).floats() * item_bytes <= kShared;
}

template <class Math>
int32_t run_batched(const dt_stream* stream, const MatrixProduct& p) {
  using T = typename Math::Value;
  const BatchedPlan plan(p, sizeof(T));
  return launch(stream, batched_product<Math>,
                static_cast<unsigned>(divide_up(p.batch, plan.matrices)), kBatchedThreads,
                static_cast<size_t>(plan.matrices * plan.floats()) * sizeof(T), left_lines<T>(p),
                right_lines<T>(p), ActivatingStore<Math>(p), plan, p.batch,
                static_cast<uint32_t>(p.m), static_cast<uint32_t>(p.n));
}

}  // namespace
}  // namespace dt::cuda
