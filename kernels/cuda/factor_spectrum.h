// Factorisations with orthogonal matrices: QR, eigenvalues of symmetric matrices, singular values.
#pragma once

#include "kernels/cuda/factor_direct.h"

namespace dt::factor {

// ---- Householder reflectors: I - tau v v^T, with v[0] = 1

// Makes of x[0], x[step], ... a multiple of the first unit vector, which x[0] becomes, and what is
// behind v[0]. Gives tau.
DT_MATH double make_reflector(double* x, int64_t step, int64_t n) {
  double largest = magnitude(x[0]), sum = 0;
  for (int64_t i = 1; i < n; ++i)
    largest = magnitude(x[i * step]) > largest ? magnitude(x[i * step]) : largest;
  // In parts of the largest element, which may be as small as numbers are.
  const double scale = largest > 0 && !math::isinf(largest) ? largest : 1.0;
  for (int64_t i = 1; i < n; ++i) sum += (x[i * step] / scale) * (x[i * step] / scale);
  if (sum == 0) return 0;
  const double alpha = x[0] / scale, norm = math::sqrt(alpha * alpha + sum);
  const double beta = alpha < 0 ? norm : -norm;
  for (int64_t i = 1; i < n; ++i) x[i * step] = x[i * step] / scale / (alpha - beta);
  x[0] = beta * scale;
  return (beta - alpha) / beta;
}

// The reflector that lies in x, as a vector of its own: tau, then v.
DT_MATH void copy_reflector(double* to, double tau, const double* x, int64_t step, int64_t n) {
  to[0] = tau;
  to[1] = 1;
  for (int64_t i = 1; i < n; ++i) to[1 + i] = x[i * step];
}

// x = H @ x
template <class Team>
DT_MATH void reflect_rows(Team& team, const double* reflector, Matrix x, int64_t rows,
                          int64_t cols) {
  team.each(cols, 2 * rows, [=, &team](int64_t begin, int64_t end) {
    const double tau = reflector[0], *v = reflector + 1;
    for (int64_t j = begin; j < end; j += kChunk) {
      const int64_t width = least(kChunk, end - j);
      double sums[kChunk];
      for (int64_t k = 0; k < width; ++k) sums[k] = 0;
      for (int64_t i = 0; i < rows; ++i) team.add_scaled(sums, v[i], x[i] + j, width);
      for (int64_t i = 0; i < rows; ++i) team.add_scaled(x[i] + j, -tau * v[i], sums, width);
    }
  });
}

// x = x @ H
template <class Team>
DT_MATH void reflect_columns(Team& team, const double* reflector, Matrix x, int64_t rows,
                             int64_t cols) {
  team.each(rows, 2 * cols, [=, &team](int64_t begin, int64_t end) {
    const double tau = reflector[0], *v = reflector + 1;
    for (int64_t i = begin; i < end; ++i)
      team.add_scaled(x[i], -tau * team.dot(x[i], v, cols), v, cols);
  });
}

template <class Team>
DT_MATH void load_identity(Team& team, Matrix x, int64_t rows, int64_t cols) {
  team.each(rows, cols, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < cols; ++j) x[i][j] = i == j;
    }
  });
}

// ---- QR

struct Qr {
  Matrices factors, tau, a;

  explicit Qr(const calls::Geqrf& call) : factors(call.factors), tau(call.tau), a(call.a) {}

  int64_t matrices() const { return a.matrices; }
  DT_MATH int64_t scratch() const { return a.rows * a.cols + a.rows + 1; }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const int64_t rows = a.rows, cols = a.cols;
    const Matrix x = {memory, cols};
    double* reflector = memory + rows * cols;
    const Matrices taus = tau;
    load(team, x, a, n);
    for (int64_t k = 0; k < least(rows, cols); ++k) {
      team.once([=] {
        const double value = make_reflector(x[k] + k, cols, rows - k);
        copy_reflector(reflector, value, x[k] + k, cols, rows - k);
        taus.store(n, 0, k, value);
      });
      reflect_rows(team, reflector, x.from(k, k + 1), rows - k, cols - k - 1);
    }
    store(team, factors, n, [=](int64_t i, int64_t j) { return x[i][j]; });
  }
};

// The product of reflectors as Qr leaves them.
struct Reflectors {
  Matrices q, v, tau;

  explicit Reflectors(const calls::HouseholderProduct& call)
      : q(call.q), v(call.v), tau(call.tau) {}

  int64_t matrices() const { return q.matrices; }
  DT_MATH int64_t scratch() const { return q.rows * q.cols + q.rows + 1; }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const int64_t rows = q.rows, cols = q.cols;
    const Matrix x = {memory, rows};  // transposed
    double* reflector = memory + rows * cols;
    const Matrices taus = tau, vectors = v;
    load_identity(team, x, cols, rows);
    for (int64_t k = tau.cols - 1; k >= 0; --k) {
      team.once([=] {
        reflector[0] = taus.load(n, 0, k);
        reflector[1] = 1;
        for (int64_t i = 1; i < rows - k; ++i) reflector[1 + i] = vectors.load(n, k + i, k);
      });
      reflect_columns(team, reflector, x.from(k, k), cols - k, rows - k);
    }
    store(team, q, n, [=](int64_t i, int64_t j) { return x[j][i]; });
  }
};

// ---- rotations, of which eigenvalues and singular values are made

template <class Team>
DT_MATH void apply(Team& team, const Rotation* all, const int64_t* count, Matrix x, int64_t cols) {
  team.each(cols, 6 * *count, [=, &team](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j += kChunk) {
      for (int64_t k = 0; k < *count; ++k)
        team.rotate(x[all[k].first] + j, x[all[k].second] + j, all[k].c, all[k].s,
                    least(kChunk, end - j));
    }
  });
}

DT_MATH bool is_finite(Matrix x, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      if (!(magnitude(x[i][j]) < math::kInfinity)) return false;
    }
  }
  return true;
}

// Memory of a team, cut up.
struct Cut {
  double* at;

  DT_MATH double* take(int64_t n) {
    double* const area = at;
    at += n;
    return area;
  }
  DT_MATH Matrix matrix(int64_t rows, int64_t cols) { return {take(rows * cols), cols}; }
  template <class T>
  DT_MATH T* room(int64_t n) {
    return reinterpret_cast<T*>(take(n * static_cast<int64_t>(sizeof(T) / sizeof(double))));
  }
};

// ---- symmetric eigenvalues: tridiagonal form, then implicit QL

struct Eigh {
  Matrices w, v, info, a;

  explicit Eigh(const calls::Eigh& call) : w(call.w), v(call.v), info(call.info), a(call.a) {}

  int64_t matrices() const { return a.matrices; }
  DT_MATH int64_t scratch() const { return 2 * a.rows * a.rows + 10 * a.rows + 8; }

  struct Memory {
    int64_t n;
    Matrix x, z;  // z: eigenvectors in rows
    double *d, *e, *tau, *p, *reflector;
    int64_t* order;
    Rotation* rotations;
    Sweep* sweep;

    DT_MATH Memory(int64_t n, double* memory) : n(n) {
      Cut cut = {memory};
      sweep = cut.room<Sweep>(1);
      x = cut.matrix(n, n);
      z = cut.matrix(n, n);
      d = cut.take(n), e = cut.take(n), tau = cut.take(n), p = cut.take(n);
      reflector = cut.take(n + 1);
      order = cut.room<int64_t>(n);
      rotations = cut.room<Rotation>(n);
    }
    DT_MATH Tridiagonal iteration() const { return {n, kEpsilon, d, e, rotations, sweep}; }
  };

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const Memory m(a.rows, memory);
    const Matrices from = a;
    const bool wants_vectors = v.data != nullptr;
    team.each(m.n, m.n, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = 0; j < m.n; ++j)
          m.x[i][j] = j <= i ? from.load(n, i, j) : from.load(n, j, i);
      }
    });
    team.once([=] { *m.sweep = {0, 0, is_finite(m.x, m.n, m.n) ? 0 : -1, {0, 0}}; });
    if (m.sweep->failed == 0) {
      make_tridiagonal(team, m);
      if (wants_vectors) collect_vectors(team, m);
      do {
        team.once([=] { m.iteration().next_sweep(); });
        if (wants_vectors) apply(team, m.rotations, m.sweep->count, m.z, m.n);
      } while (m.sweep->count[0] > 0);
    }
    team.once([=] { sort_places(m.d, m.order, m.n, false); });
    const double bad = m.sweep->failed == 0 ? 0.0 : math::kInfinity - math::kInfinity;
    store(team, w, n, [=](int64_t, int64_t j) { return m.d[m.order[j]] + bad; });
    if (wants_vectors)
      store(team, v, n, [=](int64_t i, int64_t j) { return m.z[m.order[j]][i] + bad; });
    const Matrices code = info;
    team.once([=] {
      // As LAPACK's: what is not finite does not converge, but for a matrix that is solved at once.
      const int64_t failed = m.sweep->failed < 0 ? m.n - 1 : m.sweep->failed;
      code.store(n, 0, 0, m.sweep->failed < 0 && m.n <= 2 ? 0.0 : static_cast<double>(failed));
    });
  }

 private:
  template <class Team>
  static DT_MATH void make_tridiagonal(Team& team, const Memory& memory) {
    const Memory m = memory;
    for (int64_t k = 0; k + 1 < m.n; ++k) {
      const int64_t size = m.n - k - 1;
      const Matrix rest = m.x.from(k + 1, k + 1);
      const double* v = m.reflector + 1;
      team.once([=] {
        m.tau[k] = make_reflector(m.x[k] + k + 1, 1, size);
        copy_reflector(m.reflector, m.tau[k], m.x[k] + k + 1, 1, size);
        m.e[k] = m.x[k][k + 1];
      });
      team.each(size, size, [=, &team](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) m.p[i] = m.tau[k] * team.dot(rest[i], v, size);
      });
      team.once(
          [=, &team] { team.add_scaled(m.p, -0.5 * m.tau[k] * team.dot(m.p, v, size), v, size); });
      team.each(size, 2 * size, [=, &team](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          team.add_scaled(rest[i], -v[i], m.p, size);
          team.add_scaled(rest[i], -m.p[i], v, size);
        }
      });
    }
    team.once([=] {
      for (int64_t i = 0; i < m.n; ++i) m.d[i] = m.x[i][i];
    });
  }

  template <class Team>
  static DT_MATH void collect_vectors(Team& team, const Memory& memory) {
    const Memory m = memory;
    load_identity(team, m.z, m.n, m.n);
    for (int64_t k = m.n - 2; k >= 0; --k) {
      const int64_t size = m.n - k - 1;
      team.once([=] { copy_reflector(m.reflector, m.tau[k], m.x[k] + k + 1, 1, size); });
      reflect_columns(team, m.reflector, m.z.from(k + 1, k + 1), size, size);
    }
  }
};

// ---- singular values: bidiagonal form, then implicit QR (Golub and Reinsch, 1970; the cases are
// those of LINPACK's dsvdc)

struct Svd {
  Matrices u, s, vh, info, a;  // a has as many rows as columns, or more

  explicit Svd(const calls::Svd& call)
      : u(call.u), s(call.s), vh(call.vh), info(call.info), a(call.a) {}

  int64_t matrices() const { return a.matrices; }
  DT_MATH int64_t scratch() const {
    return a.rows * (a.cols + u.cols + 1) + a.cols * a.cols + 15 * a.cols + 16;
  }

  struct Memory {
    int64_t rows, n, columns;  // columns: of u
    Matrix x, u, v;            // u, v: singular vectors in rows
    double *d, *e, *tau_u, *tau_v, *reflector, *sign;
    int64_t* order;
    Rotation *turns_u, *turns_v;
    Sweep* sweep;

    DT_MATH Memory(const Svd& call, double* memory)
        : rows(call.a.rows), n(call.a.cols), columns(call.u.data ? call.u.cols : 0) {
      Cut cut = {memory};
      sweep = cut.room<Sweep>(1);
      x = cut.matrix(rows, n);
      u = cut.matrix(columns, rows);
      v = cut.matrix(n, n);
      d = cut.take(n), e = cut.take(n + 1), tau_u = cut.take(n), tau_v = cut.take(n);
      sign = cut.take(n), reflector = cut.take(rows + 1);
      order = cut.room<int64_t>(n);
      turns_u = cut.room<Rotation>(n);
      turns_v = cut.room<Rotation>(n);
    }
    DT_MATH Bidiagonal iteration() const {
      return {n, kEpsilon, d, e, sign, turns_u, turns_v, sweep};
    }
  };

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const Memory m(*this, memory);
    const bool wants_vectors = vh.data != nullptr;
    load(team, m.x, a, n);
    team.once([=] { *m.sweep = {m.n, 0, is_finite(m.x, m.rows, m.n) ? 0 : -4, {0, 0}}; });
    if (m.sweep->failed == 0) {
      make_bidiagonal(team, m);
      if (wants_vectors) collect_vectors(team, m);
      do {
        team.once([=] { m.iteration().next_sweep(); });
        if (wants_vectors) {
          apply(team, m.turns_u, &m.sweep->count[0], m.u, m.rows);
          apply(team, m.turns_v, &m.sweep->count[1], m.v, m.n);
        }
      } while (m.sweep->count[0] + m.sweep->count[1] > 0);
    }
    team.once([=] { sort_places(m.d, m.order, m.n, true); });
    const Matrices code = info;
    team.once([=] { code.store(n, 0, 0, static_cast<double>(m.sweep->failed)); });
    store(team, s, n, [=](int64_t, int64_t j) { return m.d[m.order[j]]; });
    if (!wants_vectors) return;
    store(team, u, n, [=](int64_t i, int64_t j) { return m.u[j < m.n ? m.order[j] : j][i]; });
    store(team, vh, n, [=](int64_t i, int64_t j) {
      const int64_t row = m.order[i];
      return m.sign[row] * m.v[row][j];
    });
  }

 private:
  template <class Team>
  static DT_MATH void make_bidiagonal(Team& team, const Memory& memory) {
    const Memory m = memory;
    for (int64_t k = 0; k < m.n; ++k) {
      const int64_t below = m.rows - k, right = m.n - k - 1;
      team.once([=] {
        m.tau_u[k] = make_reflector(m.x[k] + k, m.n, below);
        copy_reflector(m.reflector, m.tau_u[k], m.x[k] + k, m.n, below);
        m.d[k] = m.x[k][k];
        m.e[k] = 0;
      });
      if (right == 0) break;
      reflect_rows(team, m.reflector, m.x.from(k, k + 1), below, right);
      team.once([=] {
        m.tau_v[k] = make_reflector(m.x[k] + k + 1, 1, right);
        copy_reflector(m.reflector, m.tau_v[k], m.x[k] + k + 1, 1, right);
        m.e[k] = m.x[k][k + 1];
      });
      reflect_columns(team, m.reflector, m.x.from(k + 1, k + 1), below - 1, right);
    }
  }

  template <class Team>
  static DT_MATH void collect_vectors(Team& team, const Memory& memory) {
    const Memory m = memory;
    load_identity(team, m.u, m.columns, m.rows);
    load_identity(team, m.v, m.n, m.n);
    for (int64_t k = m.n - 1; k >= 0; --k) {
      const int64_t below = m.rows - k, right = m.n - k - 1;
      team.once([=] { copy_reflector(m.reflector, m.tau_u[k], m.x[k] + k, m.n, below); });
      reflect_columns(team, m.reflector, m.u.from(k, k), m.columns - k, below);
      if (right == 0) continue;
      team.once([=] { copy_reflector(m.reflector, m.tau_v[k], m.x[k] + k + 1, 1, right); });
      reflect_columns(team, m.reflector, m.v.from(k + 1, k + 1), right, right);
    }
  }
};

}  // namespace dt::factor
