// Factorisations of dense matrices: what backends share. (Golub and Van Loan, "Matrix
// Computations", 4th edition, chapters 3 to 5 and 8; Anderson et al., "LAPACK Users' Guide", whose
// conventions for pivots, reflectors and failures hold.) How a matrix is worked on is each
// backend's own; here are its operands, and the iterations of eigenvalues and singular values,
// which are short and in double precision whatever the operands hold.
#pragma once

#include "kernels/calls/factor.gen.h"
#include "kernels/dtype.h"
#include "kernels/math_elementwise.h"

namespace dt::factor {

// A batch of matrices as a kernel was handed it: floats, or the integers of pivots and codes.
struct Matrices {
  void* data = nullptr;  // null: absent
  int32_t dtype = 0;
  int64_t matrices = 0, rows = 0, cols = 0;
  int64_t batch = 0, row = 0, col = 0;  // strides

  Matrices() = default;
  // [batch, rows, cols]; fewer dimensions are a batch of rows or of numbers.
  explicit Matrices(const dt_view& x)
      : data(x.data),
        dtype(x.dtype),
        matrices(x.sizes[0]),
        rows(x.ndim > 2 ? x.sizes[1] : 1),
        cols(x.ndim > 1 ? x.sizes[x.ndim - 1] : 1),
        batch(x.strides[0]),
        row(x.ndim > 2 ? x.strides[1] : 0),
        col(x.ndim > 1 ? x.strides[x.ndim - 1] : 0) {}
  explicit Matrices(const dt_view* x) : Matrices(x ? Matrices(*x) : Matrices()) {}

  // The matrices' transposes.
  DT_MATH Matrices turned() const {
    Matrices y = *this;
    y.rows = cols, y.cols = rows, y.row = col, y.col = row;
    return y;
  }

  DT_MATH int64_t at(int64_t n, int64_t i, int64_t j) const {
    return n * batch + i * row + j * col;
  }
  DT_MATH double load(int64_t n, int64_t i, int64_t j) const {
    if (dtype == dtype_of<double>) return static_cast<const double*>(data)[at(n, i, j)];
    if (dtype == dtype_of<float>) return static_cast<const float*>(data)[at(n, i, j)];
    return static_cast<const int32_t*>(data)[at(n, i, j)];
  }
  DT_MATH void store(int64_t n, int64_t i, int64_t j, double x) const {
    if (dtype == dtype_of<double>)
      static_cast<double*>(data)[at(n, i, j)] = x;
    else if (dtype == dtype_of<float>)
      static_cast<float*>(data)[at(n, i, j)] = static_cast<float>(x);
    else if (dtype == dtype_of<int32_t>)
      static_cast<int32_t*>(data)[at(n, i, j)] = static_cast<int32_t>(x);
    else
      static_cast<int64_t*>(data)[at(n, i, j)] = static_cast<int64_t>(x);
  }
};

template <class T>
DT_MATH T least(T a, T b) {
  return b < a ? b : a;
}

DT_MATH double magnitude(double x) {
  return __builtin_fabs(x);
}
DT_MATH float magnitude(float x) {
  return __builtin_fabsf(x);
}

// ---- rotations, of which eigenvalues and singular values are made

// Rows `first` and `second` become c first + s second and c second - s first.
struct Rotation {
  double c, s;
  int64_t first, second;
};

struct Givens {
  double c, s, length;

  DT_MATH Givens(double f, double g) : c(1), s(0) {
    const double square = f * f + g * g;
    const bool in_range = square > 0x1p-900 && square < 0x1p900;
    length = in_range ? math::sqrt(square) : math::hypot(f, g);
    if (length == 0) return;
    c = f / length;
    s = g / length;
  }
};

// One sweep's rotations, and how far an algorithm is: in the memory that the team shares.
struct Sweep {
  int64_t place, tries, failed;  // place: what of the spectrum is being worked on
  int64_t count[2];              // of rotations of either side; 0 of both: done
};

constexpr double kEpsilon = 0x1p-52;
constexpr double kTiny = 0x1p-966;  // what is negligible beside nothing
// Steps for one number of a spectrum, of each number that it has: the first may take as many as all
// do, since those behind it converge on the way.
constexpr int64_t kMostTries = 30;

// order: the places of the n numbers of d from the smallest, or from the largest.
DT_MATH void sort_places(const double* d, int64_t* order, int64_t n, bool descending) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = i;
    for (; at > 0 && (descending ? d[order[at - 1]] < d[i] : d[order[at - 1]] > d[i]); --at)
      order[at] = order[at - 1];
    order[at] = i;
  }
}

// ---- symmetric tridiagonal matrices: implicit QL

// The diagonal d and what is beside it, e; rotations of one sweep, fewer than n.
struct Tridiagonal {
  int64_t n;
  double epsilon;  // relative size of what is negligible
  double *d, *e;
  Rotation* rotations;
  Sweep* sweep;

  // One step of QL on the first part of the matrix that is not diagonal yet.
  DT_MATH void next_sweep() const {
    sweep->count[0] = 0;
    for (; sweep->place < n; ++sweep->place, sweep->tries = 0) {
      const int64_t l = sweep->place;
      int64_t last = l;
      while (last + 1 < n &&
             magnitude(e[last]) > kTiny + epsilon * (magnitude(d[last]) + magnitude(d[last + 1])))
        ++last;
      if (last == l) continue;
      if (++sweep->tries > kMostTries * n) sweep->failed = l + 1;
      if (sweep->failed == 0) step(l, last);
      return;
    }
  }

 private:
  DT_MATH void step(int64_t l, int64_t last) const {
    const double ratio = (d[l + 1] - d[l]) / (2 * e[l]), root = math::hypot(ratio, 1.0);
    const double move = e[l] / (ratio + (ratio < 0 ? -root : root));
    double g = d[last] - d[l] + move;
    double s = 1, c = 1, p = 0;
    int64_t count = 0, end = last;
    for (int64_t i = last - 1; i >= l; --i) {
      if (magnitude(s * e[i]) < kTiny) {  // the shift is lost on the way: begin again from here
        e[i + 1] = g;
        d[i + 1] -= p;
        g = d[i + 1] - d[l] + move;
        s = c = 1, p = 0, end = i + 1;
      }
      const double f = s * e[i], b = c * e[i];
      const Givens turn(g, f);
      c = turn.c, s = turn.s;
      if (i + 1 < end) e[i + 1] = turn.length;
      g = d[i + 1] - p;
      const double r = (d[i] - g) * s + 2 * c * b;
      p = s * r;
      d[i + 1] = g + p;
      g = c * r - b;
      rotations[count++] = {c, s, i + 1, i};
    }
    d[l] -= p;
    e[l] = g;
    e[last] = 0;
    sweep->count[0] = count;
  }
};

// ---- bidiagonal matrices: implicit QR (Golub and Reinsch, 1970; the cases are those of LINPACK's
// dsvdc)

// The diagonal d and what is above it, e; rotations of one sweep, fewer than n of either side. What
// is negative at last has the sign -1.
struct Bidiagonal {
  int64_t n;
  double epsilon;
  double *d, *e, *sign;
  Rotation *turns_u, *turns_v;
  Sweep* sweep;

  // The next step on what is left, the first `place` singular values.
  DT_MATH void next_sweep() const {
    sweep->count[0] = sweep->count[1] = 0;
    for (; sweep->place > 0; --sweep->place, sweep->tries = 0) {
      const int64_t p = sweep->place;
      int64_t k = p - 2;  // e[k] is negligible
      while (k >= 0 && magnitude(e[k]) > kTiny + epsilon * (magnitude(d[k]) + magnitude(d[k + 1])))
        --k;
      if (k >= 0) e[k] = 0;
      if (k == p - 2) {
        sign[p - 1] = d[p - 1] < 0 ? -1 : 1;
        d[p - 1] = magnitude(d[p - 1]);
        continue;
      }
      if (++sweep->tries > kMostTries * n) sweep->failed = p;
      if (sweep->failed != 0) return;
      int64_t zero = p - 1;  // d[zero] is negligible
      for (; zero > k; --zero) {
        const double beside = (zero != p - 1 ? magnitude(e[zero]) : 0.0) +
                              (zero != k + 1 ? magnitude(e[zero - 1]) : 0.0);
        if (magnitude(d[zero]) <= kTiny + epsilon * beside) break;
      }
      if (zero == k)
        chase(k + 1, p);
      else if (zero == p - 1)
        deflate_last(k + 1, p);
      else
        split(zero + 1, p);
      return;
    }
  }

 private:
  DT_MATH void deflate_last(int64_t k, int64_t p) const {
    d[p - 1] = 0;
    double f = e[p - 2];
    e[p - 2] = 0;
    for (int64_t j = p - 2; j >= k; --j) {
      const Givens turn(d[j], f);
      d[j] = turn.length;
      if (j != k) {
        f = -turn.s * e[j - 1];
        e[j - 1] *= turn.c;
      }
      turns_v[sweep->count[1]++] = {turn.c, turn.s, j, p - 1};
    }
  }

  DT_MATH void split(int64_t k, int64_t p) const {
    d[k - 1] = 0;
    double f = e[k - 1];
    e[k - 1] = 0;
    for (int64_t j = k; j < p; ++j) {
      const Givens turn(d[j], f);
      d[j] = turn.length;
      f = -turn.s * e[j];
      e[j] *= turn.c;
      turns_u[sweep->count[0]++] = {turn.c, turn.s, j, k - 1};
    }
  }

  DT_MATH double shift_of(int64_t p, double scale) const {
    const double sp = d[p - 1] / scale, before = d[p - 2] / scale, ep = e[p - 2] / scale;
    const double b = ((before + sp) * (before - sp) + ep * ep) / 2, c = (sp * ep) * (sp * ep);
    if (b == 0 && c == 0) return 0;
    const double root = math::sqrt(b * b + c);
    return c / (b + (b < 0 ? -root : root));
  }

  DT_MATH void chase(int64_t k, int64_t p) const {
    double scale = 0;
    const double sizes[] = {d[p - 1], d[p - 2], e[p - 2], d[k], e[k]};
    for (int i = 0; i < 5; ++i) scale = magnitude(sizes[i]) > scale ? magnitude(sizes[i]) : scale;
    const double sp = d[p - 1] / scale, sk = d[k] / scale;
    double f = (sk + sp) * (sk - sp) + shift_of(p, scale), g = sk * (e[k] / scale);
    int64_t count = 0;
    for (int64_t j = k; j < p - 1; ++j) {
      const Givens right(f, g);
      if (j != k) e[j - 1] = right.length;
      f = right.c * d[j] + right.s * e[j];
      e[j] = right.c * e[j] - right.s * d[j];
      g = right.s * d[j + 1];
      d[j + 1] *= right.c;
      turns_v[count] = {right.c, right.s, j, j + 1};
      const Givens left(f, g);
      d[j] = left.length;
      f = left.c * e[j] + left.s * d[j + 1];
      d[j + 1] = left.c * d[j + 1] - left.s * e[j];
      g = left.s * e[j + 1];
      e[j + 1] *= left.c;
      turns_u[count++] = {left.c, left.s, j, j + 1};
    }
    e[p - 2] = f;
    sweep->count[0] = sweep->count[1] = count;
  }
};

}  // namespace dt::factor

// The kernels, what they are called with, and who solves them on a backend.
#define DT_FACTOR_KERNELS(X)                             \
  X(lu_factor, LuFactor, Lu)                             \
  X(lu_permutation, LuPermutation, Permutation)          \
  X(cholesky, Cholesky, Cholesky)                        \
  X(lu_solve, LuSolve, LuSolution)                       \
  X(triangular_solve, TriangularSolve, Triangular)       \
  X(geqrf, Geqrf, Qr)                                    \
  X(householder_product, HouseholderProduct, Reflectors) \
  X(eigh, Eigh, Eigh)                                    \
  X(svd, Svd, Svd)
