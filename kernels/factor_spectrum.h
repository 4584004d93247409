// Factorisations with orthogonal matrices: QR, eigenvalues of symmetric matrices, singular values.
#pragma once

#include "kernels/factor.h"

namespace dt::factor {

// ---- Householder reflectors: I - tau v v^T, with v[0] = 1

// Makes of x[0], x[step], ... a multiple of the first unit vector, which x[0] becomes, and what is
// behind v[0]. Gives tau.
DT_MATH double make_reflector(double* x, int64_t step, int64_t n) {
  double largest = magnitude(x[0]), sum = 0;
  for (int64_t i = 1; i < n; ++i)
    largest = magnitude(x[i * step]) > largest ? magnitude(x[i * step]) : largest;
  const double scale = largest > 0 ? largest : 1.0;
  for (int64_t i = 1; i < n; ++i) sum += (x[i * step] / scale) * (x[i * step] / scale);
  if (sum == 0) return 0;
  const double alpha = x[0], first = alpha / scale;
  const double norm = scale * math::sqrt(first * first + sum), beta = alpha < 0 ? norm : -norm;
  for (int64_t i = 1; i < n; ++i) x[i * step] /= alpha - beta;
  x[0] = beta;
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
  Operand factors, tau, a;

  explicit Qr(const calls::Geqrf& call) : factors(call.factors), tau(call.tau), a(call.a) {}

  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return a.rows * a.cols * least(a.rows, a.cols); }
  Products products() const { return {}; }
  DT_MATH int64_t scratch() const { return a.rows * a.cols + a.rows + 1; }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const int64_t rows = a.rows, cols = a.cols;
    const Matrix x = {memory, cols};
    double* reflector = memory + rows * cols;
    const Operand taus = tau;
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
  Operand q, v, tau;

  explicit Reflectors(const calls::HouseholderProduct& call)
      : q(call.q), v(call.v), tau(call.tau) {}

  int64_t matrices() const { return q.matrices; }
  int64_t work() const { return q.rows * q.cols * tau.cols; }
  Products products() const { return {}; }
  DT_MATH int64_t scratch() const { return q.rows * q.cols + q.rows + 1; }

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const int64_t rows = q.rows, cols = q.cols;
    const Matrix x = {memory, rows};  // transposed
    double* reflector = memory + rows * cols;
    const Operand taus = tau, vectors = v;
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

// Rows `first` and `second` become c first + s second and c second - s first.
struct Rotation {
  double c, s;
  int64_t first, second;
};

struct Givens {
  double c, s, length;

  DT_MATH Givens(double f, double g) : c(1), s(0), length(math::hypot(f, g)) {
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

constexpr double kEpsilon = 0x1p-52;
constexpr int64_t kMostTries = 75;

// order: the places of the n numbers of d from the smallest, or from the largest.
DT_MATH void sort_places(const double* d, int64_t* order, int64_t n, bool descending) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = i;
    for (; at > 0 && (descending ? d[order[at - 1]] < d[i] : d[order[at - 1]] > d[i]); --at)
      order[at] = order[at - 1];
    order[at] = i;
  }
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
  Operand w, v, info, a;

  explicit Eigh(const calls::Eigh& call) : w(call.w), v(call.v), info(call.info), a(call.a) {}

  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return 4 * a.rows * a.rows * a.rows; }
  Products products() const { return {}; }
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
  };

  template <class Team>
  DT_MATH void solve(Team& team, int64_t n, double* memory) const {
    const Memory m(a.rows, memory);
    const Operand from = a;
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
        team.once([=] { next_sweep(m); });
        if (wants_vectors) apply(team, m.rotations, m.sweep->count, m.z, m.n);
      } while (m.sweep->count[0] > 0);
    }
    team.once([=] { sort_places(m.d, m.order, m.n, false); });
    const double bad = m.sweep->failed == 0 ? 0.0 : math::kInfinity - math::kInfinity;
    store(team, w, n, [=](int64_t, int64_t j) { return m.d[m.order[j]] + bad; });
    if (wants_vectors)
      store(team, v, n, [=](int64_t i, int64_t j) { return m.z[m.order[j]][i] + bad; });
    const Operand code = info;
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

  // One step of QL on the first part of the matrix that is not diagonal yet.
  static DT_MATH void next_sweep(const Memory& m) {
    Sweep& sweep = *m.sweep;
    double *d = m.d, *e = m.e;
    sweep.count[0] = 0;
    for (; sweep.place < m.n; ++sweep.place, sweep.tries = 0) {
      const int64_t l = sweep.place;
      int64_t last = l;
      while (last + 1 < m.n &&
             magnitude(e[last]) > kEpsilon * (magnitude(d[last]) + magnitude(d[last + 1])))
        ++last;
      if (last == l) continue;
      if (++sweep.tries > kMostTries) sweep.failed = l + 1;
      if (sweep.failed == 0) step(m, l, last);
      return;
    }
  }

  static DT_MATH void step(const Memory& m, int64_t l, int64_t last) {
    double *d = m.d, *e = m.e;
    const double ratio = (d[l + 1] - d[l]) / (2 * e[l]), root = math::hypot(ratio, 1.0);
    double g = d[last] - d[l] + e[l] / (ratio + (ratio < 0 ? -root : root));
    double s = 1, c = 1, p = 0;
    int64_t count = 0;
    for (int64_t i = last - 1; i >= l; --i) {
      const double f = s * e[i], b = c * e[i];
      const Givens turn(g, f);
      c = turn.c, s = turn.s;
      if (i + 1 < last) e[i + 1] = turn.length;
      g = d[i + 1] - p;
      const double r = (d[i] - g) * s + 2 * c * b;
      p = s * r;
      d[i + 1] = g + p;
      g = c * r - b;
      m.rotations[count++] = {c, s, i + 1, i};
    }
    d[l] -= p;
    e[l] = g;
    e[last] = 0;
    m.sweep->count[0] = count;
  }
};

// ---- singular values: bidiagonal form, then implicit QR (Golub and Reinsch, 1970; the cases are
// those of LINPACK's dsvdc)

struct Svd {
  Operand u, s, vh, info, a;  // a has as many rows as columns, or more

  explicit Svd(const calls::Svd& call)
      : u(call.u), s(call.s), vh(call.vh), info(call.info), a(call.a) {}

  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return 8 * a.rows * a.cols * a.cols; }
  Products products() const { return {}; }
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
        team.once([=] { next_sweep(m); });
        if (wants_vectors) {
          apply(team, m.turns_u, &m.sweep->count[0], m.u, m.rows);
          apply(team, m.turns_v, &m.sweep->count[1], m.v, m.n);
        }
      } while (m.sweep->count[0] + m.sweep->count[1] > 0);
    }
    team.once([=] { sort_places(m.d, m.order, m.n, true); });
    const Operand code = info;
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

  // The next step on what is left, the first `place` singular values.
  static DT_MATH void next_sweep(const Memory& m) {
    constexpr double kTiny = 0x1p-966;
    Sweep& sweep = *m.sweep;
    double *d = m.d, *e = m.e;
    sweep.count[0] = sweep.count[1] = 0;
    for (; sweep.place > 0; --sweep.place, sweep.tries = 0) {
      const int64_t p = sweep.place;
      int64_t k = p - 2;  // e[k] is negligible
      while (k >= 0 && magnitude(e[k]) > kTiny + kEpsilon * (magnitude(d[k]) + magnitude(d[k + 1])))
        --k;
      if (k >= 0) e[k] = 0;
      if (k == p - 2) {
        m.sign[p - 1] = d[p - 1] < 0 ? -1 : 1;
        d[p - 1] = magnitude(d[p - 1]);
        continue;
      }
      if (++sweep.tries > kMostTries) sweep.failed = p;
      if (sweep.failed != 0) return;
      int64_t zero = p - 1;  // d[zero] is negligible
      for (; zero > k; --zero) {
        const double beside = (zero != p - 1 ? magnitude(e[zero]) : 0.0) +
                              (zero != k + 1 ? magnitude(e[zero - 1]) : 0.0);
        if (magnitude(d[zero]) <= kTiny + kEpsilon * beside) break;
      }
      if (zero == k)
        chase(m, k + 1, p);
      else if (zero == p - 1)
        deflate_last(m, k + 1, p);
      else
        split(m, zero + 1, p);
      return;
    }
  }

  static DT_MATH void deflate_last(const Memory& m, int64_t k, int64_t p) {
    m.d[p - 1] = 0;
    double f = m.e[p - 2];
    m.e[p - 2] = 0;
    for (int64_t j = p - 2; j >= k; --j) {
      const Givens turn(m.d[j], f);
      m.d[j] = turn.length;
      if (j != k) {
        f = -turn.s * m.e[j - 1];
        m.e[j - 1] *= turn.c;
      }
      m.turns_v[m.sweep->count[1]++] = {turn.c, turn.s, j, p - 1};
    }
  }

  static DT_MATH void split(const Memory& m, int64_t k, int64_t p) {
    m.d[k - 1] = 0;
    double f = m.e[k - 1];
    m.e[k - 1] = 0;
    for (int64_t j = k; j < p; ++j) {
      const Givens turn(m.d[j], f);
      m.d[j] = turn.length;
      f = -turn.s * m.e[j];
      m.e[j] *= turn.c;
      m.turns_u[m.sweep->count[0]++] = {turn.c, turn.s, j, k - 1};
    }
  }

  static DT_MATH double shift_of(const Memory& m, int64_t p, double scale) {
    const double sp = m.d[p - 1] / scale, before = m.d[p - 2] / scale, ep = m.e[p - 2] / scale;
    const double b = ((before + sp) * (before - sp) + ep * ep) / 2, c = (sp * ep) * (sp * ep);
    if (b == 0 && c == 0) return 0;
    const double root = math::sqrt(b * b + c);
    return c / (b + (b < 0 ? -root : root));
  }

  static DT_MATH void chase(const Memory& m, int64_t k, int64_t p) {
    double *d = m.d, *e = m.e;
    double scale = 0;
    const double sizes[] = {d[p - 1], d[p - 2], e[p - 2], d[k], e[k]};
    for (int i = 0; i < 5; ++i) scale = magnitude(sizes[i]) > scale ? magnitude(sizes[i]) : scale;
    const double sp = d[p - 1] / scale, sk = d[k] / scale;
    double f = (sk + sp) * (sk - sp) + shift_of(m, p, scale), g = sk * (e[k] / scale);
    int64_t count = 0;
    for (int64_t j = k; j < p - 1; ++j) {
      const Givens right(f, g);
      if (j != k) e[j - 1] = right.length;
      f = right.c * d[j] + right.s * e[j];
      e[j] = right.c * e[j] - right.s * d[j];
      g = right.s * d[j + 1];
      d[j + 1] *= right.c;
      m.turns_v[count] = {right.c, right.s, j, j + 1};
      const Givens left(f, g);
      d[j] = left.length;
      f = left.c * e[j] + left.s * d[j + 1];
      d[j + 1] = left.c * d[j + 1] - left.s * e[j];
      g = left.s * e[j + 1];
      e[j + 1] *= left.c;
      m.turns_u[count++] = {left.c, left.s, j, j + 1};
    }
    e[p - 2] = f;
    m.sweep->count[0] = m.sweep->count[1] = count;
  }
};

}  // namespace dt::factor

// The kernels, what they are called with, and who solves them.
#define DT_FACTOR_KERNELS(X)                             \
  X(lu_factor, LuFactor, Lu)                             \
  X(lu_permutation, LuPermutation, Permutation)          \
  X(cholesky, Cholesky, Cholesky)                        \
  X(triangular_solve, TriangularSolve, Triangular)       \
  X(geqrf, Geqrf, Qr)                                    \
  X(householder_product, HouseholderProduct, Reflectors) \
  X(eigh, Eigh, Eigh)                                    \
  X(svd, Svd, Svd)
