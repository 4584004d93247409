// Factorisations of matrices: the loops of an instruction set, lent to what is compiled once.
#include "kernels/cpu/factor_once.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

using factor::kSmall;
using factor::Strided;

// Lambdas of whole and partial vectors are to be part of their loops, however small code shall be.
#define DT_INLINE __attribute__((always_inline))

// Calls f(first element, load, store) for whole vectors, then for what is left.
template <class T, class F>
DT_INLINE inline void for_vectors(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>)
    f(
        i, [](const T* p) DT_INLINE { return load(p); },
        [](T* p, Vector<T> v) DT_INLINE { store(p, v); });
  if (i == n) return;
  const int64_t rest = n - i;
  f(
      i, [rest](const T* p) DT_INLINE { return load_first(p, rest); },
      [rest](T* p, Vector<T> v) DT_INLINE { store_first(p, v, rest); });
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  constexpr int64_t kStep = 4 * kLanes<T>;
  Vector<T> sums[4] = {};
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    DT_UNROLL
    for (int k = 0; k < 4; ++k)
      sums[k] = multiply_add(load(a + i + k * kLanes<T>), load(b + i + k * kLanes<T>), sums[k]);
  }
  for_vectors<T>(n - i, [&](int64_t at, const auto& read, const auto&) DT_INLINE {
    sums[0] = multiply_add(read(a + i + at), read(b + i + at), sums[0]);
  });
  return reduce_lanes<Sum<T>>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class T>
void add_scaled(T* y, T factor, const T* x, int64_t n) {
  const Vector<T> f = splat(factor);
  for_vectors<T>(n, [&](int64_t i, const auto& read, const auto& write)
                        DT_INLINE { write(y + i, multiply_add(f, read(x + i), read(y + i))); });
}

template <class T>
void divide(T* x, T by, int64_t n) {
  const Vector<T> f = splat(by);
  for_vectors<T>(n, [&](int64_t i, const auto& read, const auto& write)
                        DT_INLINE { write(x + i, read(x + i) / f); });
}

template <class T>
T update_dot(T* x, T a, const T* p, T b, const T* v, const T* w, int64_t n) {
  const Vector<T> fa = splat(a), fb = splat(b);
  Vector<T> sums[2] = {};
  for_vectors<T>(n, [&](int64_t i, const auto& read, const auto& write) DT_INLINE {
    const Vector<T> y = multiply_add(fb, read(v + i), multiply_add(fa, read(p + i), read(x + i)));
    write(x + i, y);
    sums[0] = multiply_add(y, read(w + i), sums[0]);
    const Vector<T> other = sums[0];
    sums[0] = sums[1], sums[1] = other;
  });
  return reduce_lanes<Sum<T>>(sums[0] + sums[1]);
}

template <class T>
void update_add(T* x, T a, const T* p, T b, const T* v, T f, T* sum, int64_t n) {
  const Vector<T> fa = splat(a), fb = splat(b), ff = splat(f);
  for_vectors<T>(n, [&](int64_t i, const auto& read, const auto& write) DT_INLINE {
    const Vector<T> y = multiply_add(fb, read(v + i), multiply_add(fa, read(p + i), read(x + i)));
    write(x + i, y);
    write(sum + i, multiply_add(ff, y, read(sum + i)));
  });
}

// One copy of what is long.
template <class T>
__attribute__((noinline)) void transpose_to(T* y, int64_t y_stride, const T* x, int64_t x_stride,
                                            int64_t rows, int64_t cols) {
  copy_transposed(y, y_stride, x, x_stride, rows, cols);
}

// ---- small systems: rows of a few vectors, which stay in registers

// Columns [j, j + cols) of s, of which kVectors vectors hold all.
template <class T, int kVectors>
void substitute_columns(const factor::Substitution<T>& s, int64_t j, int64_t cols) {
  constexpr int64_t kWidth = kVectors * kLanes<T>;
  T y[kSmall][kWidth];
  const bool has_rows = s.x.col == 1;
  if (cols < kWidth) __builtin_memset(y, 0, static_cast<size_t>(s.n) * sizeof(y[0]));
  T* const x = s.x.data + j * s.x.col;
  if (has_rows) {
    for (int64_t i = 0; i < s.n; ++i)
      for (int64_t c = 0; c < cols; ++c) y[i][c] = x[i * s.x.row + c];
  } else {
    transpose_to(y[0], kWidth, x, s.x.col, cols, s.n);
  }
  for (int64_t step = 0; step < s.n; ++step) {
    const int64_t i = s.upper ? s.n - 1 - step : step;
    Vector<T> row[kVectors];
    DT_UNROLL
    for (int v = 0; v < kVectors; ++v) row[v] = load(y[i] + v * kLanes<T>);
    for (int64_t r = 0; r < step; ++r) {
      const int64_t known = s.upper ? s.n - 1 - r : r;
      const Vector<T> f = splat(-s.t.at(i, known));
      DT_UNROLL
      for (int v = 0; v < kVectors; ++v)
        row[v] = multiply_add(f, load(y[known] + v * kLanes<T>), row[v]);
    }
    const Vector<T> pivot = splat(s.unit ? T(1) : s.t.at(i, i));
    DT_UNROLL
    for (int v = 0; v < kVectors; ++v) store(y[i] + v * kLanes<T>, row[v] / pivot);
  }
  if (has_rows) {
    for (int64_t i = 0; i < s.n; ++i)
      for (int64_t c = 0; c < cols; ++c) x[i * s.x.row + c] = y[i][c];
  } else {
    transpose_to(x, s.x.col, y[0], kWidth, s.n, cols);
  }
}

template <class T>
void substitute(const factor::Substitution<T>& s) {
  constexpr int64_t kWidth = 4 * kLanes<T>;
  int64_t j = 0;
  for (; j + kWidth <= s.cols; j += kWidth) substitute_columns<T, 4>(s, j, kWidth);
  for (; j < s.cols; j += kLanes<T>)
    substitute_columns<T, 1>(s, j, min<int64_t>(kLanes<T>, s.cols - j));
}

// By rows of the transpose, U of U^T U, in whole vectors: what is left of the diagonal, and beyond
// n, is written too, and never used.
template <class T>
int64_t cholesky(Strided<T> a, int64_t n) {
  constexpr int64_t kWidth = kLanes<T>;
  static_assert(kSmall % kWidth == 0);
  T u[kSmall][kSmall];
  const int64_t end = ceil_div(n, kWidth) * kWidth;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < end; ++j) u[i][j] = j < i || j >= n ? T(0) : a.at(j, i);
  }
  for (int64_t k = 0; k < n; ++k) {
    if (!(u[k][k] > 0)) return k + 1;  // NaN, too
    const T root = __builtin_sqrt(u[k][k]);
    for (int64_t j = k / kWidth * kWidth; j < end; j += kWidth)
      store(u[k] + j, load(u[k] + j) / splat(root));
    u[k][k] = root;
    for (int64_t i = k + 1; i < n; ++i) {
      const Vector<T> factor = splat(-u[k][i]);
      for (int64_t j = i / kWidth * kWidth; j < end; j += kWidth)
        store(u[i] + j, multiply_add(factor, load(u[k] + j), load(u[i] + j)));
    }
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) a.at(i, j) = u[j][i];
  return 0;
}

template <class T>
int64_t find_pivot(const T* x, int64_t n) {
  const auto magnitude = [](auto v) { return v < 0 ? -v : v; };
  Vector<T> most = splat(magnitude(x[0]));
  for_vectors<T>(n, [&](int64_t i, const auto& read, const auto&) DT_INLINE {
    const Vector<T> v = magnitude(read(x + i));
    most = v > most ? v : most;
  });
  const T largest = reduce_lanes<Largest<T>>(most);
  for (int64_t i = 0; i < n; ++i)
    if (magnitude(x[i]) == largest) return i;
  return 0;
}

// ---- rotations: of a chain, the row that two neighbours share stays in registers

template <class T>
void rotate(T* panel, const factor::Rotation* r, int64_t count) {
  constexpr int64_t kWidth = factor::kPanelBytes / sizeof(T);
  constexpr int kVectors = factor::kPanelBytes / kVectorBytes;
  Vector<T> kept[kVectors] = {};
  int64_t place = -1;
  for (int64_t k = 0; k < count; ++k) {
    T *const first = panel + r[k].first * kWidth, *const second = panel + r[k].second * kWidth;
    if (r[k].first != place) {
      DT_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        if (place >= 0) store(panel + place * kWidth + v * kLanes<T>, kept[v]);
        kept[v] = load(first + v * kLanes<T>);
      }
    }
    const Vector<T> c = splat(static_cast<T>(r[k].c)), s = splat(static_cast<T>(r[k].s)), back = -s;
    DT_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const Vector<T> x = kept[v], y = load(second + v * kLanes<T>);
      store(first + v * kLanes<T>, multiply_add(c, x, s * y));
      kept[v] = multiply_add(back, x, c * y);  // the chain's one latency
    }
    place = r[k].second;
  }
  if (place < 0) return;
  DT_UNROLL
  for (int v = 0; v < kVectors; ++v) store(panel + place * kWidth + v * kLanes<T>, kept[v]);
}

// ---- products

template <class T>
void multiply(const dt_stream* stream, const factor::StridedProduct<T>& p, void* workspace) {
  Gemm<T> g = {};
  const bool turned = p.y.col != 1;
  g.batch = 1, g.m = turned ? p.n : p.m, g.n = turned ? p.m : p.n, g.k = p.k;
  g.a = turned ? Matrices<const T>{p.b.data, 0, p.b.col, p.b.row}
               : Matrices<const T>{p.a.data, 0, p.a.row, p.a.col};
  g.b = turned ? Matrices<const T>{p.a.data, 0, p.a.col, p.a.row}
               : Matrices<const T>{p.b.data, 0, p.b.row, p.b.col};
  g.y = {p.y.data, 0, turned ? p.y.col : p.y.row, 1};
  if (p.beta != 0) g.c = {p.y.data, 0, g.y.row, 1};
  g.alpha = p.alpha, g.beta = p.beta;
  run_gemm(stream, g, workspace);
}

template <class T>
int64_t product_workspace(const dt_stream* stream, int64_t most, int64_t k) {
  return stream->threads * most_part_workspace<T>(most, k);
}

template <class T>
constexpr factor::FastLoops<T> kLoopsOf = {dot<T>,        add_scaled<T>, divide<T>,
                                           update_dot<T>, update_add<T>, transpose_to<T>,
                                           substitute<T>, cholesky<T>,   find_pivot<T>,
                                           rotate<T>,     multiply<T>,   product_workspace<T>};

constexpr factor::AllLoops kLoops = {kLoopsOf<float>, kLoopsOf<double>};

#undef DT_INLINE

}  // namespace

#define DT_FACTOR_KERNEL(NAME, CALL, PROBLEM)                                             \
  int32_t kernels::NAME(const dt_stream* stream, const calls::CALL& call) {               \
    return dt_factor_solve(factor::Kernel::NAME, stream, &call, call.workspace, &kLoops); \
  }                                                                                       \
  int64_t kernels::NAME##_workspace(const dt_stream* stream, const calls::CALL& call) {   \
    return dt_factor_workspace(factor::Kernel::NAME, stream, &call, &kLoops);             \
  }
DT_FACTOR_KERNELS(DT_FACTOR_KERNEL)
#undef DT_FACTOR_KERNEL

}  // namespace dt::cpu
