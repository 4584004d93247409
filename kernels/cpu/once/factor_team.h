// The threads that work on one matrix, and what they do with matrices. They leave the same bits
// behind, however many they are.
#pragma once

#include "kernels/cpu/factor_once.h"
#include "kernels/cpu/workers.h"

namespace dt::cpu {
namespace {

using factor::kSmall;
using factor::Matrices;
using factor::Strided;

// What the products of a problem do not go beyond: `widest` columns with `terms` terms, or `narrow`
// ones with `longest`. Their memory is that of the larger of the two, since it grows with both.
struct Products {
  int64_t widest, terms;
  int64_t narrow = 0, longest = 0;
};

template <class T>
class Team {
 public:
  Team(const dt_stream* stream, const factor::FastLoops<T>& loops, void* workspace)
      : loops(loops), stream_(stream), workspace_(workspace) {}

  // f(begin, end) for parts of [0, n), of `cost` operations an item.
  template <class F>
  void each(int64_t n, int64_t cost, const F& f) const {
    const auto part = [](const void* context, int64_t begin, int64_t end) {
      (*static_cast<const F*>(context))(begin, end);
    };
    share_out(n, cost, part, &f, 64 / sizeof(T));
  }

  // f(item) for each of [0, n), of `cost` operations.
  template <class F>
  void each_item(int64_t n, int64_t cost, const F& f) const {
    const auto item = [](const void* context, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) (*static_cast<const F*>(context))(i);
    };
    share_out(n, cost, item, &f, 1);
  }

  // y = alpha * a @ b + beta * y
  void multiply(Strided<T> y, T alpha, Strided<const T> a, Strided<const T> b, T beta, int64_t m,
                int64_t n, int64_t k) const {
    if (m > 0 && n > 0)
      loops.multiply(stream_, factor::StridedProduct<T>{m, n, k, y, a, b, alpha, beta}, workspace_);
  }
  // y -= a @ b
  void subtract(Strided<T> y, Strided<const T> a, Strided<const T> b, int64_t m, int64_t n,
                int64_t k) const {
    if (k > 0) multiply(y, T(-1), a, b, T(1), m, n, k);
  }

  const factor::FastLoops<T>& loops;

 private:
  using Part = void (*)(const void* context, int64_t begin, int64_t end);

  void share_out(int64_t n, int64_t cost, Part part, const void* context, int64_t step) const;

  const dt_stream* const stream_;
  void* const workspace_;
};

template <class T>
void Team<T>::share_out(int64_t n, int64_t cost, Part part, const void* context,
                        int64_t step) const {
  constexpr int64_t kPerCycle = 8;  // operations
  if (n <= 0) return;
  const int64_t tiles = min<int64_t>(ceil_div(n, step), 2 * stream_->threads);
  if (tiles <= 1 || !worth_threads(stream_, n * cost / kPerCycle)) return part(context, 0, n);
  const int64_t size = ceil_div(ceil_div(n, tiles), step) * step;
  parallel_for(stream_, tiles, [=](int64_t tile) {
    if (tile * size < n) part(context, tile * size, min(n, (tile + 1) * size));
  });
}

// ---- operands

template <class T>
Strided<T> matrix(const Matrices& x, int64_t n) {
  return {static_cast<T*>(x.data) + n * x.batch, x.row, x.col};
}

inline int32_t& code(const Matrices& x, int64_t n) {
  return static_cast<int32_t*>(x.data)[x.at(n, 0, 0)];
}

template <class T>
void copy_rows(const Team<T>& team, Strided<T> to, Strided<const T> from, int64_t rows,
               int64_t cols) {
  team.each(rows, 2 * cols, [=, &team](int64_t begin, int64_t end) {
    const Strided<T> y = to.from(begin, 0);
    const Strided<const T> x = from.from(begin, 0);
    if (to.col == 1 && from.row == 1 && from.col != 1)
      return team.loops.copy_transposed(y.data, y.row, x.data, x.col, cols, end - begin);
    for (int64_t i = 0; i < end - begin; ++i) {
      for (int64_t j = 0; j < cols; ++j) y.at(i, j) = x.at(i, j);
    }
  });
}

template <class T>
void copy(const Team<T>& team, Strided<T> to, Strided<const T> from, int64_t rows, int64_t cols) {
  constexpr int64_t kFew = 64;  // elements that are not worth a call
  if (rows * cols <= kFew) {
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t i = 0; i < rows; ++i) to.at(i, j) = from.at(i, j);
    }
    return;
  }
  if (to.col != 1) return copy_rows(team, to.turned(), from.turned(), cols, rows);
  copy_rows(team, to, from, rows, cols);
}

template <class T>
void load_identity(Strided<T> x, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) x.at(i, j) = i == j;
  }
}

template <class T>
void swap(T& a, T& b) {
  const T kept = a;
  a = b;
  b = kept;
}

// Where a problem is halved: whole small blocks.
inline int64_t half_of(int64_t n) {
  return ceil_div(ceil_div(n, 2), kSmall) * kSmall;
}

}  // namespace
}  // namespace dt::cpu
