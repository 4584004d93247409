// Eigenvalues of symmetric matrices and singular values: a tridiagonal or bidiagonal form, whose
// iterations are those of kernels/factor.h, and their rotations, many sweeps at a time. The form is
// made in as few passes over the matrix as there can be, because they are what it takes: a pass
// brings a step's two outer products into a row and meanwhile multiplies it by the next vector.
// (Howell et al., "Cache efficient bidiagonalization using BLAS 2.5 operators", 2008.)
#pragma once

#include "kernels/cpu/once/factor_reflectors.h"
#include "kernels/cpu/once/lapack.h"

namespace dt::cpu {
namespace {

using factor::Rotation;
using factor::Sweep;

template <class T>
constexpr double kNegligible = sizeof(T) == 4 ? 0x1p-24 : factor::kEpsilon;

// Rotations that wait until there are enough for a pass over the rows of x.
template <class T>
struct Turns {
  static constexpr int64_t kSweeps = 32, kWidth = factor::kPanelBytes / sizeof(T);

  T* x;  // contiguous rows of `cols` elements
  int64_t rows, cols, room, count = 0;
  Rotation* all;
  T* panels;

  // Where x is null, rotations have a place and are forgotten.
  Turns(Workspace* memory, T* x, int64_t rows, int64_t cols)
      : x(x),
        rows(rows),
        cols(cols),
        room((cols > 0 ? kSweeps : 1) * rows),
        all(memory->take<Rotation>(room)),
        panels(memory->take<T>(ceil_div(cols, kWidth) * rows * kWidth)) {}

  Rotation* next() const { return all + count; }

  // There are `more`; the next are fewer than rows.
  void add(const Team<T>& team, int64_t more) {
    if (x == nullptr) return;
    count += more;
    if (count + rows > room) apply(team);
  }

  void apply(const Team<T>& team) {
    if (count == 0) return;
    team.each_item(ceil_div(cols, kWidth), 6 * count * kWidth,
                   [=, &team](int64_t panel) { turn(team, panel); });
    count = 0;
  }

 private:
  void turn(const Team<T>& team, int64_t panel) const {
    const int64_t width = min(kWidth, cols - panel * kWidth);
    T *const from = x + panel * kWidth, *const own = panels + panel * rows * kWidth;
    const size_t bytes = static_cast<size_t>(width) * sizeof(T);
    for (int64_t i = 0; i < rows; ++i) __builtin_memcpy(own + i * kWidth, from + i * cols, bytes);
    team.loops.rotate(own, all, count);
    for (int64_t i = 0; i < rows; ++i) __builtin_memcpy(from + i * cols, own + i * kWidth, bytes);
  }
};

// Divides the rows of x, so that products of two elements stay in range, by what is returned: 1 for
// most matrices, NaN if an element is not finite.
template <class T>
double load_scaled(const Team<T>& team, T* x, int64_t rows, int64_t cols) {
  constexpr double kLeast = sizeof(T) == 4 ? 0x1p-80 : 0x1p-800;
  double squares = 0, largest = 0;
  for (int64_t i = 0; i < rows; ++i) squares += team.loops.dot(x + i * cols, x + i * cols, cols);
  if (squares > kLeast && squares < 1 / kLeast) return 1;
  for (int64_t i = 0; i < rows * cols; ++i) {
    const double size = factor::magnitude(static_cast<double>(x[i]));
    if (!(size < math::kInfinity)) return math::kInfinity - math::kInfinity;
    largest = max(largest, size);
  }
  if (largest == 0) return 1;
  team.loops.divide(x, static_cast<T>(largest), rows * cols);
  return largest;
}

// What a matrix takes that goes to LAPACK; nothing where it does not.
template <class T>
struct LapackMemory {
  bool is_used;
  int32_t size = 0;
  T *values, *work;
  int32_t* places;

  LapackMemory(Workspace* memory, bool is_used, int64_t n, double wanted)
      : is_used(is_used), size(is_used ? rounded(wanted) : 0) {
    values = memory->take<T>(is_used ? n : 0);
    places = memory->take<int32_t>(is_used ? 8 * n : 0);
    work = memory->take<T>(size);
  }

 private:
  // LAPACK tells sizes as T, which may have rounded them down.
  static int32_t rounded(double wanted) {
    return static_cast<int32_t>(min(wanted * (1 + 0x1p-22) + 1, double{INT32_MAX}));
  }
};

// ---- symmetric eigenvalues

template <class T>
struct Eigh {
  Matrices w, v, info, a;

  explicit Eigh(const calls::Eigh& call) : w(call.w), v(call.v), info(call.info), a(call.a) {}

  int32_t dtype() const { return a.dtype; }
  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return 8 * a.rows * a.rows * a.rows; }
  Products products() const { return products_of_blocks(a.rows, a.rows, a.rows); }
  int64_t scratch() const {
    Workspace memory(nullptr);
    Memory(*this, &memory);
    return memory.bytes();
  }

  void solve(const Team<T>& team, int64_t n, Workspace workspace) const {
    Memory m(*this, &workspace);
    const double scale = load(team, m, n);
    const bool is_finite = scale == scale;
    // As LAPACK's: what is not finite does not converge, but for a matrix that is solved at once.
    int64_t failed = m.n <= 2 ? 0 : m.n - 1;
    if (is_finite) failed = m.lapack.is_used ? ask_lapack(m) : iterate(team, m);
    code(info, n) = static_cast<int32_t>(failed);
    store(m, n, is_finite && failed == 0 ? scale : math::kInfinity - math::kInfinity);
  }

 private:
  struct Memory {
    int64_t n;
    T *x, *z, *tau, *v, *p, *next, *sums;  // z: eigenvectors in rows
    double *d, *e;
    int64_t* order;
    LapackMemory<T> lapack;
    BlockMemory<T> block;
    Turns<T> turns;

    Memory(const Eigh& call, Workspace* memory)
        : n(call.a.rows),
          x(memory->take<T>(n * n)),
          z(call.v.data != nullptr ? memory->take<T>(n * n) : nullptr),
          tau(memory->take<T>(n)),
          v(memory->take<T>(n)),
          p(memory->take<T>(n)),
          next(memory->take<T>(n)),
          sums(memory->take<T>(n)),
          d(memory->take<double>(n)),
          e(memory->take<double>(n)),
          order(memory->take<int64_t>(n)),
          lapack(memory, takes_lapack(n, n), n, lapack_work(n, call.v.data != nullptr)),
          block(memory, z_size(call), z_size(call)),
          turns(memory, z, n, z_size(call)) {}

   private:
    // Rows of vectors that are made here.
    int64_t z_size(const Eigh& call) const {
      return call.v.data != nullptr && !lapack.is_used ? n : 0;
    }
    static double lapack_work(int64_t n, bool has_vectors) {
      const double size = static_cast<double>(n);
      return has_vectors ? 1 + 6 * size + 2 * size * size : 66 * size;  // blocks of 64
    }
  };

  static int64_t iterate(const Team<T>& team, Memory& m) {
    Sweep sweep = {0, 0, 0, {0, 0}};
    make_tridiagonal(team, m);
    if (m.z != nullptr) collect_vectors(team, m);
    do {
      const factor::Tridiagonal t = {m.n, kNegligible<T>, m.d, m.e, m.turns.next(), &sweep};
      t.next_sweep();
      m.turns.add(team, sweep.count[0]);
    } while (sweep.count[0] > 0);
    m.turns.apply(team);
    return sweep.failed;
  }

  static int64_t ask_lapack(Memory& m) {
    const auto n = static_cast<int32_t>(m.n), places = 8 * n;
    int32_t failed = 0;
    routines(lapack_library(), T(0))
        .syevd(m.z != nullptr ? "V" : "N", "L", &n, m.x, &n, m.lapack.values, m.lapack.work,
               &m.lapack.size, m.lapack.places, &places, &failed, 1, 1);
    for (int64_t i = 0; i < m.n; ++i) m.d[i] = m.lapack.values[i];
    if (m.z != nullptr) m.z = m.x;
    return failed;
  }

  double load(const Team<T>& team, const Memory& m, int64_t n) const {
    const Strided<T> x = {m.x, m.n, 1};
    copy<T>(team, x, matrix<const T>(a, n), m.n, m.n);
    for (int64_t i = 0; i < m.n; ++i) {
      for (int64_t j = 0; j < i; ++j) x.at(j, i) = x.at(i, j);
    }
    return load_scaled(team, m.x, m.n, m.n);
  }

  static void make_tridiagonal(const Team<T>& team, Memory& m) {
    const int64_t n = m.n;
    for (int64_t i = 0; i < n; ++i) m.v[i] = m.p[i] = 0;
    for (int64_t k = 0; k < n; ++k) {
      T* const row = m.x + k * n;
      const int64_t left = n - k - 1, first = k + 1;
      team.loops.update_dot(row + k, -m.v[k], m.p + k, -m.p[k], m.v + k, m.v + k, n - k);
      m.d[k] = row[k];
      if (left == 0) break;
      m.tau[k] = make_reflector(team.loops, row + first, left);
      m.e[k] = row[first];
      m.next[first] = 1;
      for (int64_t j = first + 1; j < n; ++j) m.next[j] = row[j];
      team.each(left, 8 * left, [=, &m, &team](int64_t begin, int64_t end) {
        for (int64_t i = first + begin; i < first + end; ++i)
          m.sums[i] = m.tau[k] * team.loops.update_dot(m.x + i * n + first, -m.v[i], m.p + first,
                                                       -m.p[i], m.v + first, m.next + first, left);
      });
      const T along = team.loops.dot(m.sums + first, m.next + first, left);
      team.loops.add_scaled(m.sums + first, T(-0.5) * m.tau[k] * along, m.next + first, left);
      swap(m.v, m.next);
      swap(m.p, m.sums);
    }
  }

  static void collect_vectors(const Team<T>& team, const Memory& m) {
    const Strided<T> q = {m.z, 1, m.n};
    load_identity(q, m.n, m.n);
    if (m.n > 1)
      reflect_all<T>(team, m.block, {m.x + 1, 1, m.n}, m.tau, m.n - 1, m.n - 1, q.from(1, 1),
                     m.n - 1);
  }

  void store(const Memory& m, int64_t n, double scale) const {
    factor::sort_places(m.d, m.order, m.n, false);
    const Strided<T> values = matrix<T>(w, n), vectors = matrix<T>(v, n);
    for (int64_t j = 0; j < m.n; ++j) {
      const int64_t place = m.order[j];
      values.at(0, j) = static_cast<T>(m.d[place] * scale);
      for (int64_t i = 0; m.z != nullptr && i < m.n; ++i)
        vectors.at(i, j) = scale == scale ? m.z[place * m.n + i] : static_cast<T>(scale);
    }
  }
};

// ---- singular values

template <class T>
struct Svd {
  Matrices u, s, vh, info, a;  // a has as many rows as columns, or more

  explicit Svd(const calls::Svd& call)
      : u(call.u), s(call.s), vh(call.vh), info(call.info), a(call.a) {}

  int32_t dtype() const { return a.dtype; }
  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return 12 * a.rows * a.cols * a.cols; }
  Products products() const {
    return u.data == nullptr ? Products{} : products_of_blocks(a.rows, max(u.cols, a.cols), a.cols);
  }
  int64_t scratch() const {
    Workspace memory(nullptr);
    Memory(*this, &memory);
    return memory.bytes();
  }

  void solve(const Team<T>& team, int64_t n, Workspace workspace) const {
    Memory m(*this, &workspace);
    const Strided<T> by_rows = {m.x, m.n, 1}, by_columns = {m.x, 1, m.rows};
    copy<T>(team, m.lapack.is_used ? by_columns : by_rows, matrix<const T>(a, n), m.rows, m.n);
    const double scale = load_scaled(team, m.x, m.rows, m.n);
    const bool is_finite = scale == scale;
    const int64_t failed = !is_finite ? -4 : m.lapack.is_used ? ask_lapack(m) : iterate(team, m);
    code(info, n) = static_cast<int32_t>(failed);
    store(m, n, scale);
  }

 private:
  struct Memory {
    int64_t rows, n, columns;      // columns: of u
    T *x, *u, *v, *tau_u, *tau_v;  // u, v: singular vectors in rows
    // A step's reflector of either side, and the product of the matrix with it; and the next
    // step's.
    T *left, *left_next, *right, *right_next, *of_left, *of_left_next, *of_right, *of_right_next;
    double *d, *e, *sign;
    int64_t* order;
    LapackMemory<T> lapack;
    BlockMemory<T> block;
    Turns<T> turns_u, turns_v;

    Memory(const Svd& call, Workspace* memory)
        : rows(call.a.rows),
          n(call.a.cols),
          columns(call.u.data != nullptr ? call.u.cols : 0),
          x(memory->take<T>(rows * n)),
          u(columns > 0 ? memory->take<T>(columns * rows) : nullptr),
          v(columns > 0 ? memory->take<T>(n * n) : nullptr),
          tau_u(memory->take<T>(n)),
          tau_v(memory->take<T>(n)),
          left(memory->take<T>(rows)),
          left_next(memory->take<T>(rows)),
          right(memory->take<T>(n)),
          right_next(memory->take<T>(n)),
          of_left(memory->take<T>(n)),
          of_left_next(memory->take<T>(n)),
          of_right(memory->take<T>(rows)),
          of_right_next(memory->take<T>(rows)),
          d(memory->take<double>(n)),
          e(memory->take<double>(n + 1)),
          sign(memory->take<double>(n)),
          order(memory->take<int64_t>(n)),
          lapack(memory, takes_lapack(rows, n), n, lapack_work()),
          block(memory, own(rows), own(columns)),
          turns_u(memory, u, n, own(rows)),
          turns_v(memory, v, n, own(n)) {}

    // Of all vectors, of those besides min(rows, n), or of none.
    const char* job() const { return columns == 0 ? "N" : columns == n ? "S" : "A"; }

   private:
    // A size of vectors that are made here.
    int64_t own(int64_t size) const { return columns > 0 && !lapack.is_used ? size : 0; }

    double lapack_work() const {
      if (!takes_lapack(rows, n)) return 0;
      const auto m = static_cast<int32_t>(rows), cols = static_cast<int32_t>(n), ask = -1;
      T wanted = 0, none = 0;
      int32_t failed = 0, place = 0;
      routines(lapack_library(), T(0))
          .gesdd(job(), &m, &cols, &none, &m, &none, &none, &m, &none, &cols, &wanted, &ask, &place,
                 &failed, 1);
      return max(static_cast<double>(wanted),
                 4.0 * static_cast<double>(n) * static_cast<double>(n) +
                     static_cast<double>(10 * n + rows));
    }
  };

  static int64_t iterate(const Team<T>& team, Memory& m) {
    Sweep sweep = {m.n, 0, 0, {0, 0}};
    make_bidiagonal(team, m);
    if (m.v != nullptr) collect_vectors(team, m);
    do {
      const factor::Bidiagonal b = {
          m.n, kNegligible<T>, m.d, m.e, m.sign, m.turns_u.next(), m.turns_v.next(), &sweep};
      b.next_sweep();
      m.turns_u.add(team, sweep.count[0]);
      m.turns_v.add(team, sweep.count[1]);
    } while (sweep.count[0] + sweep.count[1] > 0);
    m.turns_u.apply(team);
    m.turns_v.apply(team);
    return sweep.failed;
  }

  static int64_t ask_lapack(Memory& m) {
    const auto rows = static_cast<int32_t>(m.rows), n = static_cast<int32_t>(m.n);
    int32_t failed = 0;
    routines(lapack_library(), T(0))
        .gesdd(m.job(), &rows, &n, m.x, &rows, m.lapack.values, m.u, &rows, m.v, &n, m.lapack.work,
               &m.lapack.size, m.lapack.places, &failed, 1);
    for (int64_t i = 0; i < m.n; ++i) {
      m.d[i] = m.lapack.values[i];
      m.sign[i] = 1;
      for (int64_t j = 0; m.v != nullptr && j < i; ++j) swap(m.v[i * m.n + j], m.v[j * m.n + i]);
    }
    return failed;
  }

  // The step's column: what it owes, and its reflector.
  static void reflect_column(const Team<T>& team, Memory& m, int64_t k) {
    T* const column = m.left_next;
    for (int64_t i = k; i < m.rows; ++i)
      column[i] = m.x[i * m.n + k] - m.left[i] * m.of_left[k] - m.of_right[i] * m.right[k];
    m.tau_u[k] = make_reflector(team.loops, column + k, m.rows - k);
    m.d[k] = column[k];
    m.e[k] = 0;
    column[k] = 1;
    for (int64_t i = k; i < m.rows; ++i) m.x[i * m.n + k] = column[i];
  }

  // The columns behind it, and their products with the reflector.
  static void update_columns(const Team<T>& team, const Memory& m, int64_t k) {
    const int64_t first = k + 1;
    team.each(m.n - first, 8 * (m.rows - k), [=, &m, &team](int64_t begin, int64_t end) {
      const int64_t j = first + begin;
      T* const sums = m.of_left_next + j;
      for (int64_t i = 0; i < end - begin; ++i) sums[i] = 0;
      for (int64_t i = k; i < m.rows; ++i)
        team.loops.update_add(m.x + i * m.n + j, -m.left[i], m.of_left + j, -m.of_right[i],
                              m.right + j, m.left_next[i], sums, end - begin);
      for (int64_t i = 0; i < end - begin; ++i) sums[i] *= m.tau_u[k];
    });
  }

  // The step's row, and the products of those below with its reflector.
  static void reflect_row(const Team<T>& team, const Memory& m, int64_t k) {
    const int64_t first = k + 1, left = m.n - first;
    T *const row = m.x + k * m.n + first, *const v = m.right_next + first;
    team.loops.add_scaled(row, T(-1), m.of_left_next + first, left);
    m.tau_v[k] = make_reflector(team.loops, row, left);
    m.e[k] = row[0];
    v[0] = 1;
    for (int64_t j = 1; j < left; ++j) v[j] = row[j];
    const T along = team.loops.dot(m.of_left_next + first, v, left);
    team.each(m.rows - first, 2 * left, [=, &m, &team](int64_t begin, int64_t end) {
      for (int64_t i = first + begin; i < first + end; ++i) {
        const T sum = team.loops.dot(m.x + i * m.n + first, v, left);
        m.of_right_next[i] = m.tau_v[k] * (sum - m.left_next[i] * along);
      }
    });
  }

  static void make_bidiagonal(const Team<T>& team, Memory& m) {
    for (int64_t i = 0; i < m.rows; ++i) m.left[i] = m.of_right[i] = 0;
    for (int64_t j = 0; j < m.n; ++j) m.right[j] = m.of_left[j] = 0;
    for (int64_t k = 0; k < m.n; ++k) {
      reflect_column(team, m, k);
      if (k + 1 == m.n) break;
      update_columns(team, m, k);
      reflect_row(team, m, k);
      swap(m.left, m.left_next);
      swap(m.right, m.right_next);
      swap(m.of_left, m.of_left_next);
      swap(m.of_right, m.of_right_next);
    }
  }

  static void collect_vectors(const Team<T>& team, const Memory& m) {
    const Strided<T> u = {m.u, 1, m.rows}, v = {m.v, 1, m.n};
    load_identity(u, m.rows, m.columns);
    load_identity(v, m.n, m.n);
    reflect_all<T>(team, m.block, {m.x, m.n, 1}, m.tau_u, m.rows, m.n, u, m.columns);
    if (m.n > 1)
      reflect_all<T>(team, m.block, {m.x + 1, 1, m.n}, m.tau_v, m.n - 1, m.n - 1, v.from(1, 1),
                     m.n - 1);
  }

  void store(const Memory& m, int64_t n, double scale) const {
    factor::sort_places(m.d, m.order, m.n, true);
    const Strided<T> values = matrix<T>(s, n), left = matrix<T>(u, n), right = matrix<T>(vh, n);
    for (int64_t j = 0; j < m.n; ++j) values.at(0, j) = static_cast<T>(m.d[m.order[j]] * scale);
    if (m.v == nullptr) return;
    for (int64_t j = 0; j < m.columns; ++j) {
      const T* const from = m.u + (j < m.n ? m.order[j] : j) * m.rows;
      for (int64_t i = 0; i < m.rows; ++i) left.at(i, j) = from[i];
    }
    for (int64_t j = 0; j < m.n; ++j) {
      const int64_t place = m.order[j];
      for (int64_t i = 0; i < m.n; ++i)
        right.at(j, i) = static_cast<T>(m.sign[place]) * m.v[place * m.n + i];
    }
  }
};

}  // namespace
}  // namespace dt::cpu
