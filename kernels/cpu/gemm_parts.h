// The parts of a matrix product that threads work off.
#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/micro.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

// How a product is cut: the sizes of a part, and how many there are.
struct GemmParts {
  int64_t batch, rows, cols;
  int64_t batch_parts, row_parts, col_parts;

  int64_t count() const { return batch_parts * row_parts * col_parts; }
};

template <class T>
GemmParts cut_evenly(const Gemm<T>& g, int64_t batch_parts, int64_t row_parts, int64_t col_parts) {
  GemmParts p = {};
  p.batch = ceil_div(g.batch, batch_parts);
  p.rows = ceil_div(ceil_div(g.m, row_parts), kTileRows) * kTileRows;
  p.cols = ceil_div(ceil_div(g.n, col_parts), kTileCols<T>) * kTileCols<T>;
  p.batch_parts = ceil_div(g.batch, p.batch);
  p.row_parts = ceil_div(g.m, p.rows);
  p.col_parts = ceil_div(g.n, p.cols);
  return p;
}

// Every part packs what it needs of a and b, which costs about as much as kPacking more rows and
// columns: the best cut is the one whose busiest thread has least to do.
template <class T>
GemmParts cut_gemm(const dt_stream* stream, const Gemm<T>& g) {
  constexpr int64_t kPacking = 16;
  const int64_t threads = stream->threads;
  // A step of a tile's row takes one and a half cycles, what packs it included.
  const int64_t cycles = g.batch * ceil_div(g.n, kTileCols<T>) * g.m * (g.k + 20) * 3 / 2;
  if (!worth_threads(stream, cycles)) return cut_evenly(g, 1, 1, 1);
  if (g.batch >= 4 * threads) return cut_evenly(g, 4 * threads, 1, 1);
  const auto cost = [&](const GemmParts& p) {
    return ceil_div(p.count(), threads) * (p.rows + kPacking) * (p.cols + kPacking);
  };
  GemmParts best = cut_evenly(g, g.batch, 1, 1);
  for (int64_t rows = 1; rows <= threads; ++rows) {
    const GemmParts parts = cut_evenly(g, g.batch, rows, ceil_div(threads, rows));
    if (cost(parts) < cost(best)) best = parts;
  }
  return best;
}

template <class T>
Gemm<T> part_at(Gemm<T> g, const GemmParts& parts, int64_t n, int64_t r, int64_t c) {
  const int64_t batch = n * parts.batch, i = r * parts.rows, j = c * parts.cols;
  g.batch = min(parts.batch, g.batch - batch);
  g.m = min(parts.rows, g.m - i);
  g.n = min(parts.cols, g.n - j);
  g.a.data = g.a.at(batch, i, 0);
  g.b.data = g.b.at(batch, 0, j);
  if (g.c.data != nullptr) g.c.data = g.c.at(batch, i, j);
  g.y.data = g.y.at(batch, i, j);
  return g;
}

}  // namespace
}  // namespace dt::cpu
