// LU, Cholesky and triangular systems, by halves: what is left for small blocks stays small, all
// else is products. (Toledo, "Locality of reference in LU decomposition with partial pivoting",
// 1997; Gustavson, "Recursion leads to automatic variable blocking", 1997.)
#pragma once

#include "kernels/cpu/once/factor_team.h"

namespace dt::cpu {
namespace {

// Of the products of what is halved until it is small.
inline int64_t terms_for(int64_t n) {
  return n <= kSmall ? 0 : half_of(n);
}

// t @ x = x, of a lower triangle t with a number of rows that the compiler knows.
template <class T, int kRows>
void solve_rows(Strided<const T> t, bool unit, Strided<T> x, int64_t cols) {
  for (int64_t j = 0; j < cols; ++j) {
    T y[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      T sum = x.at(i, j);
#pragma GCC unroll 4
      for (int k = 0; k < i; ++k) sum -= t.at(i, k) * y[k];
      x.at(i, j) = y[i] = unit ? sum : sum / t.at(i, i);
    }
  }
}

// The same of what is not worth calls. An upper triangle is a lower one from its end.
template <class T>
void solve_few(Strided<const T> t, bool upper, bool unit, Strided<T> x, int64_t n, int64_t cols) {
  if (upper && n > 0) {
    t = {&t.at(n - 1, n - 1), -t.row, -t.col};
    x = {&x.at(n - 1, 0), -x.row, x.col};
  }
  if (n == 2) return solve_rows<T, 2>(t, unit, x, cols);
  if (n == 3) return solve_rows<T, 3>(t, unit, x, cols);
  if (n == 4) return solve_rows<T, 4>(t, unit, x, cols);
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      T sum = x.at(i, j);
      for (int64_t k = 0; k < i; ++k) sum -= t.at(i, k) * x.at(k, j);
      x.at(i, j) = unit ? sum : sum / t.at(i, i);
    }
  }
}

// The same of any size.
template <class T>
void solve_triangle(const Team<T>& team, Strided<const T> t, bool upper, bool unit, Strided<T> x,
                    int64_t n, int64_t cols) {
  constexpr int64_t kFew = 64;  // multiplications and divisions
  if (n * n * cols <= kFew) return solve_few(t, upper, unit, x, n, cols);
  if (n <= kSmall) {
    team.each(cols, n * n, [=, &team](int64_t begin, int64_t end) {
      team.loops.substitute(
          factor::Substitution<T>{t, x.from(0, begin), n, end - begin, upper, unit});
    });
    return;
  }
  const int64_t half = half_of(n), first = upper ? half : 0, second = half - first;
  const int64_t known = upper ? n - half : half, left = n - known;
  solve_triangle(team, t.from(first, first), upper, unit, x.from(first, 0), known, cols);
  team.subtract(x.from(second, 0), t.from(second, first), x.from(first, 0), left, cols, known);
  solve_triangle(team, t.from(second, second), upper, unit, x.from(second, 0), left, cols);
}

template <class T>
struct Triangular {
  Matrices x, a, b;  // a @ x = b
  bool upper, unit;

  explicit Triangular(const calls::TriangularSolve& call)
      : x(call.x), a(call.a), b(call.b), upper(call.upper), unit(call.unit) {}

  int32_t dtype() const { return a.dtype; }
  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return a.rows * a.rows * b.cols; }
  Products products() const { return {max(a.rows, b.cols), terms_for(a.rows)}; }
  int64_t scratch() const { return 0; }

  void solve(const Team<T>& team, int64_t n, Workspace) const {
    const Strided<T> y = matrix<T>(x, n);
    copy<T>(team, y, matrix<const T>(b, n), a.rows, b.cols);
    solve_triangle<T>(team, matrix<const T>(a, n), upper, unit, y, a.rows, b.cols);
  }
};

// ---- Cholesky

template <class T>
struct Cholesky {
  Matrices l, info, a;

  explicit Cholesky(const calls::Cholesky& call) : l(call.l), info(call.info), a(call.a) {}

  int32_t dtype() const { return a.dtype; }
  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return a.rows * a.rows * a.rows / 3; }
  Products products() const { return {a.rows, terms_for(a.rows)}; }
  int64_t scratch() const { return 0; }

  void solve(const Team<T>& team, int64_t n, Workspace) const {
    const Strided<T> x = matrix<T>(l, n);
    copy<T>(team, x, matrix<const T>(a, n), a.rows, a.rows);
    code(info, n) = static_cast<int32_t>(factor(team, x, a.rows));
    team.each(a.rows, a.rows, [=](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        for (int64_t i = 0; i < j; ++i) x.at(i, j) = 0;
      }
    });
  }

 private:
  // Few rows are not worth a call.
  static int64_t factor_few(Strided<T> x, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
      T root = 0;
      for (int64_t i = k; i < n; ++i) {
        T rest = x.at(i, k);
        for (int64_t j = 0; j < k; ++j) rest -= x.at(i, j) * x.at(k, j);
        if (i == k) {
          if (!(rest > 0)) return k + 1;  // NaN, too
          root = __builtin_sqrt(rest);
        }
        x.at(i, k) = i == k ? root : rest / root;
      }
    }
    return 0;
  }
  static int64_t factor(const Team<T>& team, Strided<T> x, int64_t n) {
    constexpr int64_t kFew = 12;
    if (n <= kFew) return factor_few(x, n);
    if (n <= kSmall) return team.loops.cholesky(x, n);
    const int64_t half = half_of(n), rest = n - half;
    const int64_t failed = factor(team, x, half);
    if (failed != 0) return failed;
    const Strided<T> below = x.from(half, 0);
    solve_triangle<T>(team, x, false, false, below.turned(), half, rest);
    subtract_square(team, x.from(half, half), below, rest, half);
    const int64_t later = factor(team, x.from(half, half), rest);
    return later == 0 ? 0 : half + later;
  }

  // The lower triangle of y -= a @ a^T; what is above it may be anything.
  static void subtract_square(const Team<T>& team, Strided<T> y, Strided<const T> a, int64_t n,
                              int64_t k) {
    if (n <= 4 * kSmall) return team.subtract(y, a, a.turned(), n, n, k);
    const int64_t half = half_of(n);
    subtract_square(team, y, a, half, k);
    team.subtract(y.from(half, 0), a.from(half, 0), a.turned(), n - half, half, k);
    subtract_square(team, y.from(half, half), a.from(half, 0), n - half, k);
  }
};

// ---- LU with partial pivoting, of columns that are contiguous

// Rows that pivots [begin, end) exchange, of columns [first, last); or back.
template <class T>
void exchange(const Team<T>& team, Strided<T> x, const int32_t* pivots, int64_t begin, int64_t end,
              int64_t first, int64_t last, bool back = false) {
  team.each(last - first, 8 * (end - begin), [=](int64_t from, int64_t to) {
    for (int64_t j = first + from; j < first + to; ++j) {
      for (int64_t step = 0; step < end - begin; ++step) {
        const int64_t i = back ? end - 1 - step : begin + step;
        swap(x.at(i, j), x.at(pivots[i] - 1, j));  // with itself, too: nobody foresees where
      }
    }
  });
}

template <class T>
struct Lu {
  Matrices lu, pivots, info, a;

  explicit Lu(const calls::LuFactor& call)
      : lu(call.lu), pivots(call.pivots), info(call.info), a(call.a) {}

  int32_t dtype() const { return a.dtype; }
  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return a.rows * a.cols * min(a.rows, a.cols); }
  Products products() const { return {max(a.rows, a.cols), half_of(min(a.rows, a.cols))}; }
  int64_t scratch() const { return 0; }

  void solve(const Team<T>& team, int64_t n, Workspace) const {
    const int64_t steps = min(a.rows, a.cols);
    Factors f = {team, matrix<T>(lu, n), a.rows,
                 static_cast<int32_t*>(pivots.data) + n * pivots.batch, 0};
    copy<T>(team, f.x, matrix<const T>(a, n), a.rows, a.cols);
    f.factor(0, steps);
    exchange(team, f.x, f.pivots, 0, steps, steps, a.cols);
    if (a.cols > steps)
      solve_triangle<T>(team, f.x, false, true, f.x.from(0, steps), steps, a.cols - steps);
    code(info, n) = static_cast<int32_t>(f.failed);
  }

 private:
  struct Factors {
    const Team<T>& team;
    Strided<T> x;
    int64_t rows;
    int32_t* pivots;
    int64_t failed;

    static constexpr int64_t kFew = 16;

    // Columns [begin, end), from row `begin` on.
    void factor(int64_t begin, int64_t end) {
      constexpr int64_t kPanel = 8;
      if (end - begin <= kPanel || rows <= kFew) return eliminate(begin, end);
      const int64_t middle = begin + ceil_div(ceil_div(end - begin, 2), kPanel) * kPanel;
      factor(begin, middle);
      exchange(team, x, pivots, begin, middle, middle, end);
      solve_triangle<T>(team, x.from(begin, begin), false, true, x.from(begin, middle),
                        middle - begin, end - middle);
      team.subtract(x.from(middle, middle), x.from(middle, begin), x.from(begin, middle),
                    rows - middle, end - middle, middle - begin);
      factor(middle, end);
      exchange(team, x, pivots, middle, end, begin, middle);
    }

    // Column by column; few rows are not worth calls.
    void eliminate(int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        T* const column = &x.at(0, k);
        const int64_t pivot = k + (rows <= kFew ? find_pivot(column + k, rows - k)
                                                : team.loops.find_pivot(column + k, rows - k));
        pivots[k] = static_cast<int32_t>(pivot + 1);
        if (column[pivot] == 0 && failed == 0) failed = k + 1;
        for (int64_t j = begin; j < end && pivot != k; ++j) swap(x.at(k, j), x.at(pivot, j));
        const T divisor = column[k] == 0 ? T(1) : column[k];
        if (rows <= kFew) {
          subtract_few(k, end, divisor);
          continue;
        }
        team.loops.divide(column + k + 1, divisor, rows - k - 1);
        for (int64_t j = k + 1; j < end; ++j)
          team.loops.add_scaled(&x.at(k + 1, j), -x.at(k, j), column + k + 1, rows - k - 1);
      }
    }

    static int64_t find_pivot(const T* column, int64_t n) {
      int64_t pivot = 0;
      T most = factor::magnitude(column[0]);
      for (int64_t i = 1; i < n; ++i) {
        const T size = factor::magnitude(column[i]);
        pivot += (i - pivot) & -static_cast<int64_t>(size > most);  // nobody foresees which
        most = size > most ? size : most;
      }
      return pivot;
    }

    void subtract_few(int64_t k, int64_t end, T divisor) const {
      const int64_t n = rows, distance = x.col;
      T* const column = x.data + k * distance;
      for (int64_t i = k + 1; i < n; ++i) column[i] /= divisor;
      T* other = column;
      for (int64_t j = k + 1; j < end; ++j) {
        other += distance;
        const T factor = other[k];
        for (int64_t i = k + 1; i < n; ++i) other[i] -= factor * column[i];
      }
    }
  };
};

// What is solved with the factors.
template <class T>
struct LuSolution {
  Matrices x, lu, pivots, b;
  bool adjoint;

  explicit LuSolution(const calls::LuSolve& call)
      : x(call.x), lu(call.lu), pivots(call.pivots), b(call.b), adjoint(call.adjoint) {}

  int32_t dtype() const { return x.dtype; }
  int64_t matrices() const { return x.matrices; }
  int64_t work() const { return 2 * x.rows * x.rows * x.cols; }
  Products products() const { return {max(x.rows, x.cols), terms_for(x.rows)}; }
  int64_t scratch() const { return 0; }

  void solve(const Team<T>& team, int64_t n, Workspace) const {
    const Strided<T> y = matrix<T>(x, n);
    const Strided<const T> t = matrix<const T>(lu, n);
    const int32_t* order = static_cast<const int32_t*>(pivots.data) + n * pivots.batch;
    copy<T>(team, y, matrix<const T>(b, n), x.rows, x.cols);
    if (!adjoint) exchange(team, y, order, 0, x.rows, 0, x.cols);
    solve_triangle<T>(team, adjoint ? t.turned() : t, false, !adjoint, y, x.rows, x.cols);
    solve_triangle<T>(team, adjoint ? t.turned() : t, true, adjoint, y, x.rows, x.cols);
    if (adjoint) exchange(team, y, order, 0, x.rows, 0, x.cols, true);
  }
};

// Which row of the matrix each row of the factors is, from the exchanges that pivots tell.
template <class T>
struct Permutation {
  Matrices y, pivots;

  explicit Permutation(const calls::LuPermutation& call) : y(call.order), pivots(call.pivots) {}

  int32_t dtype() const { return y.dtype; }
  int64_t matrices() const { return y.matrices; }
  int64_t work() const { return 4 * y.cols; }
  Products products() const { return {0, 0}; }
  int64_t scratch() const { return 0; }

  void solve(const Team<T>&, int64_t n, Workspace) const {
    int64_t* const order = static_cast<int64_t*>(y.data) + n * y.batch;
    const int32_t* const from = static_cast<const int32_t*>(pivots.data) + n * pivots.batch;
    for (int64_t i = 0; i < y.cols; ++i) order[i] = i;
    for (int64_t i = 0; i < pivots.cols; ++i) {
      const int64_t other = from[i * pivots.col] - 1;
      if (other < 0 || other >= y.cols) continue;  // core has refused it where it can look
      const int64_t kept = order[i];
      order[i] = order[other];
      order[other] = kept;
    }
  }
};

}  // namespace
}  // namespace dt::cpu
