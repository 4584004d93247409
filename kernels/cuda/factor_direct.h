// Factorisations of dense matrices by a team of threads, and those that need no reflectors. A team
// works on one matrix at a time, in memory of its own, row by row and in double precision
// whatever the operands hold: one code serves both dtypes, and float32 results are correctly
// rounded but for the matrix's condition. A team has
//   each(n, cost, f)   f(begin, end) for parts of [0, n), of `cost` operations an item, by all;
//   once(f)            f() by one member;
//   largest(n, f)      the first of the largest f(i), i < n;
//   subtract(c, a, b, m, n, k)   c -= a @ b
//   dot, add_scaled, rotate      of two rows, by one member
// and all members see what was written before when one of these returns. What decides how a team
// goes on lies in the memory that it shares.
#pragma once

#include "kernels/factor.h"

namespace dt::factor {

// A matrix in the team's memory.
struct Matrix {
  double* data;
  int64_t ld;

  DT_MATH double* operator[](int64_t i) const { return data + i * ld; }
  DT_MATH Matrix from(int64_t i, int64_t j) const { return {data + i * ld + j, ld}; }
};

constexpr int64_t kBlock = 32;  // columns that are worked off before the rest is updated
constexpr int64_t kChunk = 64;  // columns whose sums are kept at a time

template <class Team>
DT_MATH void load(Team& team, Matrix to, const Matrices& from, int64_t n) {
  constexpr int kAtOnce = 4;  // elements that a member asks for before it has the first
  const int64_t count = from.rows * from.cols, part = (count + kAtOnce - 1) / kAtOnce;
  team.each(part, kAtOnce, [=](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; ++first) {
      double x[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k) {
        const int64_t at = least(first + k * part, count - 1);
        x[k] = from.load(n, at / from.cols, at % from.cols);
      }
      for (int k = 0; k < kAtOnce && first + k * part < count; ++k) {
        const int64_t at = first + k * part;
        to[at / from.cols][at % from.cols] = x[k];
      }
    }
  });
}

// Element (i, j) of `to` becomes f(i, j).
template <class Team, class F>
DT_MATH void store(Team& team, const Matrices& to, int64_t n, F f) {
  team.each(to.rows * to.cols, 1, [=](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t i = at / to.cols, j = at % to.cols;
      to.store(n, i, j, f(i, j));
    }
  });
}

// ---- LU with partial pivoting

struct Lu {
  Matrices lu, pivots, info, a;

  explicit Lu(const calls::LuFactor& call)
      : lu(call.lu), pivots(call.pivots), info(call.info), a(call.a) {}

  int64_t matrices() const { return a.matrices; }
  DT_MATH int64_t scratch() const { return a.rows * a.cols + 1; }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const Matrix x = {memory + 1, a.cols};
    double* failed = memory;
    load(team, x, a, n);
    team.once([=] { *failed = 0; });
    const int64_t steps = least(a.rows, a.cols);
    for (int64_t k = 0; k < steps; k += kBlock) {
      const int64_t end = least(k + kBlock, steps);
      for (int64_t j = k; j < end; ++j) eliminate(team, n, x, j, end, failed);
      finish_rows(team, x, k, end);
      team.subtract(x.from(end, end), x.from(end, k), x.from(k, end), a.rows - end, a.cols - end,
                    end - k);
    }
    store(team, lu, n, [=](int64_t i, int64_t j) { return x[i][j]; });
    team.once([=] { info.store(n, 0, 0, *failed); });
  }

 private:
  // Column k of the columns before `end`.
  template <class Team>
  DT_MATH void eliminate(Team& team, int64_t n, Matrix x, int64_t k, int64_t end,
                         double* failed) const {
    const int64_t rows = a.rows, cols = a.cols;
    const Matrices to = pivots;
    const int64_t pivot =
        k + team.largest(rows - k, [=](int64_t i) { return magnitude(x[k + i][k]); });
    team.once([=] {
      to.store(n, 0, k, static_cast<double>(pivot + 1));
      if (x[pivot][k] == 0 && *failed == 0) *failed = static_cast<double>(k + 1);
    });
    team.each(pivot == k ? 0 : cols, 1, [=](int64_t begin, int64_t stop) {
      for (int64_t j = begin; j < stop; ++j) {
        const double kept = x[k][j];
        x[k][j] = x[pivot][j];
        x[pivot][j] = kept;
      }
    });
    team.each(rows - k - 1, end - k, [=, &team](int64_t begin, int64_t stop) {
      const double pivot = x[k][k];
      for (int64_t i = k + 1 + begin; i < k + 1 + stop; ++i) {
        const double factor = pivot == 0 ? x[i][k] : x[i][k] / pivot;
        x[i][k] = factor;
        team.add_scaled(x[i] + k + 1, -factor, x[k] + k + 1, end - k - 1);
      }
    });
  }

  // The rows of U beside a block that is done.
  template <class Team>
  DT_MATH void finish_rows(Team& team, Matrix x, int64_t k, int64_t end) const {
    team.each(a.cols - end, (end - k) * (end - k) / 2, [=, &team](int64_t begin, int64_t stop) {
      for (int64_t i = k + 1; i < end; ++i) {
        for (int64_t r = k; r < i; ++r)
          team.add_scaled(x[i] + end + begin, -x[i][r], x[r] + end + begin, stop - begin);
      }
    });
  }
};

// Which row of the matrix each row of the factors is, from the exchanges that pivots tell.
struct Permutation {
  Matrices y, pivots;

  explicit Permutation(const calls::LuPermutation& call) : y(call.order), pivots(call.pivots) {}

  int64_t matrices() const { return y.matrices; }
  DT_MATH int64_t scratch() const { return y.cols; }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* order) const {
    const Matrices to = y, from = pivots;
    team.once([=] {
      for (int64_t i = 0; i < to.cols; ++i) order[i] = static_cast<double>(i);
      for (int64_t i = 0; i < from.cols; ++i) {
        const int64_t other = static_cast<int64_t>(from.load(n, 0, i)) - 1;
        if (other < 0 || other >= to.cols) continue;  // core has refused it where it can look
        const double kept = order[i];
        order[i] = order[other];
        order[other] = kept;
      }
      for (int64_t i = 0; i < to.cols; ++i) to.store(n, 0, i, order[i]);
    });
  }
};

// ---- Cholesky

struct Cholesky {
  Matrices l, info, a;

  explicit Cholesky(const calls::Cholesky& call) : l(call.l), info(call.info), a(call.a) {}

  int64_t matrices() const { return a.matrices; }
  DT_MATH int64_t scratch() const { return a.rows * a.rows + 1; }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const int64_t size = a.rows;
    const Matrix x = {memory + 1, size};
    double* failed = memory;
    load(team, x, a, n);
    team.once([=] { *failed = 0; });
    for (int64_t k = 0; k < size && *failed == 0; k += kBlock) {
      const int64_t end = least(k + kBlock, size);
      for (int64_t j = k; j < end && *failed == 0; ++j) eliminate(team, x, j, end, failed);
      // The transpose of the block of columns lies where nothing is read any more.
      team.each(size - end, end - k, [=](int64_t begin, int64_t stop) {
        for (int64_t i = end + begin; i < end + stop; ++i) {
          for (int64_t j = k; j < end; ++j) x[j][i] = x[i][j];
        }
      });
      team.subtract(x.from(end, end), x.from(end, k), x.from(k, end), size - end, size - end,
                    end - k);
    }
    store(team, l, n, [=](int64_t i, int64_t j) { return j > i ? 0.0 : x[i][j]; });
    team.once([=] { info.store(n, 0, 0, *failed); });
  }

 private:
  template <class Team>
  DT_MATH void eliminate(Team& team, Matrix x, int64_t k, int64_t end, double* failed) const {
    const int64_t below = a.rows - k - 1;
    team.once([=] {
      if (!(x[k][k] > 0)) *failed = static_cast<double>(k + 1);  // NaN, too
      if (*failed == 0) x[k][k] = math::sqrt(x[k][k]);
    });
    if (*failed != 0) return;
    team.each(below, 1, [=](int64_t begin, int64_t stop) {
      for (int64_t i = k + 1 + begin; i < k + 1 + stop; ++i) x[i][k] /= x[k][k];
    });
    team.each(below, end - k, [=](int64_t begin, int64_t stop) {
      for (int64_t i = k + 1 + begin; i < k + 1 + stop; ++i) {
        const double factor = x[i][k];
        for (int64_t j = k + 1; j < least(i + 1, end); ++j) x[i][j] -= factor * x[j][k];
      }
    });
  }
};

// ---- triangular systems

// t @ y = y
template <class Team>
DT_MATH void substitute(Team& team, Matrix t, Matrix y, int64_t width, int64_t cols, bool upper,
                        bool unit) {
  team.each(cols, width * width / 2, [=](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t step = 0; step < width; ++step) {
        const int64_t i = upper ? width - 1 - step : step;
        double sum = y[i][j];
        for (int64_t r = 0; r < step; ++r) {
          const int64_t known = upper ? width - 1 - r : r;
          sum -= t[i][known] * y[known][j];
        }
        y[i][j] = unit ? sum : sum / t[i][i];
      }
    }
  });
}

template <class Team>
DT_MATH void solve_triangle(Team& team, Matrix t, Matrix y, int64_t size, int64_t cols, bool upper,
                            bool unit) {
  for (int64_t done = 0; done < size; done += kBlock) {
    const int64_t width = least(kBlock, size - done), left = size - done - width;
    const int64_t first = upper ? left : done, rest = upper ? 0 : done + width;
    substitute(team, t.from(first, first), y.from(first, 0), width, cols, upper, unit);
    team.subtract(y.from(rest, 0), t.from(rest, first), y.from(first, 0), left, cols, width);
  }
}

struct Triangular {
  Matrices x, a, b;  // a @ x = b
  bool upper, unit;

  explicit Triangular(const calls::TriangularSolve& call)
      : x(call.x), a(call.a), b(call.b), upper(call.upper), unit(call.unit) {}

  int64_t matrices() const { return a.matrices; }
  DT_MATH int64_t scratch() const { return a.rows * (a.rows + b.cols); }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const int64_t size = a.rows;
    const Matrix t = {memory, size}, y = {memory + size * size, b.cols};
    load(team, t, a, n);
    load(team, y, b, n);
    solve_triangle(team, t, y, size, b.cols, upper, unit);
    store(team, x, n, [=](int64_t i, int64_t j) { return y[i][j]; });
  }
};

struct LuSolution {
  Matrices x, lu, pivots, b;
  bool adjoint;

  explicit LuSolution(const calls::LuSolve& call)
      : x(call.x), lu(call.lu), pivots(call.pivots), b(call.b), adjoint(call.adjoint) {}

  int64_t matrices() const { return x.matrices; }
  DT_MATH int64_t scratch() const { return x.rows * (x.rows + x.cols); }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const int64_t size = x.rows, cols = x.cols;
    const Matrix t = {memory, size}, y = {memory + size * size, cols};
    const Matrices from = adjoint ? lu.turned() : lu;
    load(team, t, from, n);
    load(team, y, b, n);
    if (!adjoint) exchange(team, y, n);
    solve_triangle(team, t, y, size, cols, false, !adjoint);
    solve_triangle(team, t, y, size, cols, true, adjoint);
    if (adjoint) exchange(team, y, n);
    store(team, x, n, [=](int64_t i, int64_t j) { return y[i][j]; });
  }

 private:
  template <class Team>
  DT_MATH void exchange(Team& team, Matrix y, int64_t n) const {
    const Matrices from = pivots;
    const int64_t size = x.rows;
    const bool back = adjoint;
    team.each(x.cols, size, [=](int64_t begin, int64_t end) {
      for (int64_t step = 0; step < size; ++step) {
        const int64_t i = back ? size - 1 - step : step;
        const int64_t other = static_cast<int64_t>(from.load(n, 0, i)) - 1;
        if (other < 0 || other >= size) continue;  // core has refused it where it can look
        for (int64_t j = begin; j < end; ++j) {
          const double kept = y[i][j];
          y[i][j] = y[other][j];
          y[other][j] = kept;
        }
      }
    });
  }
};

}  // namespace dt::factor
