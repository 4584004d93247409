// Matrix products over arbitrary strides, of float and double: what they are, and their last step.
// gemm.cpp computes them; thin.h and brain.h know better ways for some.
#pragma once

#include "kernels/activation.gen.h"
#include "kernels/cpu/common.h"

namespace dt::cpu {

// A batch of matrices: element (i, j) of matrix n is data[n * batch + i * row + j * col].
template <class T>
struct Matrices {
  T* data;
  int64_t batch, row, col;

  T* at(int64_t n, int64_t i, int64_t j) const { return data + n * batch + i * row + j * col; }
};

// y = activation(alpha * a @ b + beta * c); y.col is 1, c.data is NULL if there is no c.
template <class T>
struct Gemm {
  int64_t batch, m, n, k;
  Matrices<const T> a, b, c;
  Matrices<T> y;
  T alpha, beta;
  int64_t activation;
  // If not 0, only so much of k follows its strides: a and b are the sides of a sum over products
  // of such pieces, which lie a_piece and b_piece apart.
  int64_t piece, a_piece, b_piece;
  // What run_gemm says for all parts: how many terms of a sum are added up before they join y, and
  // whether a set of the first-level cache holds twelve lines.
  int64_t most_of_k;
  bool has_wide_cache;
};

// Bytes that run_gemm wants to work in.
template <class T>
int64_t gemm_workspace(const dt_stream* stream, const Gemm<T>& g);
template <class T>
void run_gemm(const dt_stream* stream, const Gemm<T>& g, void* workspace);
// What a thread needs at most for one product with this n and k, or less.
template <class T>
int64_t most_part_workspace(int64_t n, int64_t k);

// Where a block of a product has nothing to compute, counted from a diagonal (i, i + diagonal).
enum class Above {
  kCounts,       // it is like the rest
  kUnused,       // elements of y above the diagonal are not asked for
  kZero,         // elements of a above it are 0
  kZeroFlipped,  // elements of a's transpose, (k, i), above it are 0
};

// A block of a product that stays in the caches: y (+)= alpha * a @ b. b lies in panels of
// the tile's width, as pack_panels and pack_transposed make them.
template <class T>
struct BlockProduct {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_k;
  const T* b;
  T* y;
  int64_t y_row;
  T alpha;
  bool adds;
  Above above = Above::kCounts;
  int64_t diagonal = 0;
};
template <class T>
void multiply_block(const BlockProduct<T>& product);

// How many elements the panels of a matrix of k x n elements have.
template <class T>
int64_t panel_elements(int64_t k, int64_t n);
// Panels of x [k, n], whose rows lie `row` apart, and of its transpose [n, k].
template <class T>
void pack_panels(T* panels, const T* x, int64_t row, int64_t k, int64_t n);
template <class T>
void pack_transposed(T* panels, const T* x, int64_t row, int64_t k, int64_t n);

namespace {

template <class F, class T>
void map_in_place(T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = F::y(y[i]);
}

// The last step, for sums that are complete and still in a cache.
template <class T>
void activate_block(const Gemm<T>& g, int64_t batch, int64_t i0, int64_t i1, int64_t j0,
                    int64_t j1) {
  if (g.activation == DT_ACTIVATE_NONE) return;
  for (int64_t i = i0; i < i1; ++i) {
    T* const row = g.y.at(batch, i, j0);
    const int64_t run = g.y.col == 1 ? j1 - j0 : 1;  // few products have columns that lie apart
    for (int64_t j = 0; j < j1 - j0; j += run) {
      with_activation(g.activation,
                      [&](auto f) { map_in_place<decltype(f)>(row + j * g.y.col, run); });
    }
  }
}

// A batch that shares b is one tall matrix if its parts follow each other evenly.
template <class T>
void fold_batch(Gemm<T>* g) {
  const auto even = [&](const auto& x) { return x.data == nullptr || x.batch == g->m * x.row; };
  if (g->batch == 1 || g->b.batch != 0 || !even(g->a) || !even(g->c) || !even(g->y)) return;
  g->m *= g->batch;
  g->batch = 1;
}

}  // namespace
}  // namespace dt::cpu
