// Householder reflectors I - tau v v^T with v[0] = 1, and products of many at a time: a block of
// them is I - V T V^T with a triangular T. (Schreiber and Van Loan, "A storage-efficient WY
// representation for products of Householder transformations", 1989.)
#pragma once

#include "kernels/cpu/once/factor_team.h"

namespace dt::cpu {
namespace {

constexpr int64_t kReflectors = 32;  // of a block, at most

// make_reflector in double precision and in parts of the largest element, which may be as small or
// as large as numbers are.
template <class T>
T make_scaled_reflector(T* x, int64_t n) {
  double scale = 0, rest = 0;
  for (int64_t i = 0; i < n; ++i) scale = max(scale, factor::magnitude(static_cast<double>(x[i])));
  if (!(scale > 0) || math::isinf(scale)) scale = 1;
  for (int64_t i = 1; i < n; ++i) rest += (x[i] / scale) * (x[i] / scale);
  if (rest == 0) return 0;
  const double alpha = x[0] / scale, norm = math::sqrt(alpha * alpha + rest);
  const double beta = alpha < 0 ? norm : -norm;
  for (int64_t i = 1; i < n; ++i) x[i] = static_cast<T>(x[i] / scale / (alpha - beta));
  x[0] = static_cast<T>(beta * scale);
  return static_cast<T>((beta - alpha) / beta);
}

// Makes of x, which is contiguous, a multiple of the first unit vector, which x[0] becomes, and
// what is behind v[0]. Gives tau.
template <class T>
T make_reflector(const factor::FastLoops<T>& loops, T* x, int64_t n) {
  if (n <= 1) return 0;
  const double alpha = x[0], rest = loops.dot(x + 1, x + 1, n - 1);
  // Squares that have left the range of the numbers, or come near its ends.
  constexpr double kLeast = sizeof(T) == 4 ? 0x1p-80 : 0x1p-900, kMost = 1 / kLeast;
  if (!(rest > kLeast && rest < kMost &&
        factor::magnitude(alpha) < (sizeof(T) == 4 ? 0x1p40 : 0x1p450)))
    return make_scaled_reflector(x, n);
  const double norm = math::sqrt(alpha * alpha + rest), beta = alpha < 0 ? norm : -norm;
  loops.divide(x + 1, static_cast<T>(alpha - beta), n - 1);
  x[0] = static_cast<T>(beta);
  return static_cast<T>((beta - alpha) / beta);
}

// What a block of reflectors is applied with.
template <class T>
struct BlockMemory {
  T *v, *t, *gram, *first, *second;

  BlockMemory(Workspace* memory, int64_t rows, int64_t cols)
      : v(memory->take<T>(rows * kReflectors)),
        t(memory->take<T>(kReflectors * kReflectors)),
        gram(memory->take<T>(kReflectors * kReflectors)),
        first(memory->take<T>(cols * kReflectors)),
        second(memory->take<T>(cols * kReflectors)) {}
};

// The products of reflect_block, of `count` reflectors of `rows` elements and a matrix of `cols`
// columns: in most of them one size is that of a block.
inline Products products_of_blocks(int64_t rows, int64_t cols, int64_t count) {
  const int64_t block = min(count, kReflectors);
  return {max(max(rows, cols), block), block, max(cols, block), rows};
}

// One reflector after the other, which costs less where they are short.
template <class T>
void reflect_each(const factor::FastLoops<T>& loops, Strided<const T> v, const T* tau, int64_t rows,
                  int64_t count, Strided<T> x, int64_t cols, bool reversed) {
  for (int64_t step = 0; step < count; ++step) {
    const int64_t k = reversed ? step : count - 1 - step;
    for (int64_t j = 0; j < cols; ++j) {
      T* const column = &x.at(k, j);
      const T sum = loops.dot(&v.at(k, k), column, rows - k);
      loops.add_scaled(column, -tau[k] * sum, &v.at(k, k), rows - k);
    }
  }
}

// x = H1 ... Hk x, or Hk ... H1 x if `reversed`, of the reflectors in the columns of v from their
// first elements on, count <= kReflectors.
template <class T>
void reflect_block(const Team<T>& team, const BlockMemory<T>& memory, Strided<const T> v,
                   const T* tau, int64_t rows, int64_t count, Strided<T> x, int64_t cols,
                   bool reversed) {
  if (cols <= 0) return;
  const Strided<T> own = {memory.v, 1, rows}, t = {memory.t, count, 1};
  const Strided<T> gram = {memory.gram, count, 1};
  copy<T>(team, own, v, rows, count);
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t i = 0; i < k; ++i) own.at(i, k) = 0;
    own.at(k, k) = 1;
  }
  if (rows <= kSmall) return reflect_each<T>(team.loops, own, tau, rows, count, x, cols, reversed);
  team.multiply(gram, T(1), own.turned(), own, T(0), count, count, rows);
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t i = 0; i < count; ++i) {
      T sum = 0;
      for (int64_t r = i; r < k; ++r) sum += t.at(i, r) * gram.at(r, k);
      t.at(i, k) = i == k ? tau[k] : i < k ? -tau[k] * sum : T(0);
    }
  }
  const Strided<T> first = {memory.first, 1, count}, second = {memory.second, 1, count};
  team.multiply(first, T(1), own.turned(), x, T(0), count, cols, rows);
  team.multiply(second, T(1), reversed ? t.turned() : t, first, T(0), count, cols, count);
  team.subtract(x, own, second, rows, cols, count);
}

// x = H1 ... Hk x, of any number of reflectors in the columns of v, where x is the identity at
// first: reflector k begins in row k, so that a block leaves the columns before its own as they
// are.
template <class T>
void reflect_all(const Team<T>& team, const BlockMemory<T>& memory, Strided<const T> v,
                 const T* tau, int64_t rows, int64_t count, Strided<T> x, int64_t cols) {
  for (int64_t end = count; end > 0;) {
    const int64_t begin = (end - 1) / kReflectors * kReflectors;
    reflect_block(team, memory, v.from(begin, begin), tau + begin, rows - begin, end - begin,
                  x.from(begin, begin), cols - begin, false);
    end = begin;
  }
}

// ---- QR

template <class T>
struct Qr {
  Matrices factors, tau, a;

  explicit Qr(const calls::Geqrf& call) : factors(call.factors), tau(call.tau), a(call.a) {}

  int32_t dtype() const { return a.dtype; }
  int64_t matrices() const { return a.matrices; }
  int64_t work() const { return 2 * a.rows * a.cols * min(a.rows, a.cols); }
  Products products() const { return products_of_blocks(a.rows, a.cols, min(a.rows, a.cols)); }
  int64_t scratch() const {
    Workspace memory(nullptr);
    BlockMemory<T>(&memory, a.rows, a.cols);
    return memory.bytes();
  }

  void solve(const Team<T>& team, int64_t n, Workspace memory) const {
    const Panels p = {team, BlockMemory<T>(&memory, a.rows, a.cols), matrix<T>(factors, n),
                      matrix<T>(tau, n).data, a.rows};
    copy<T>(team, p.x, matrix<const T>(a, n), a.rows, a.cols);
    const int64_t steps = min(a.rows, a.cols);
    for (int64_t k = 0; k < steps; k += kReflectors) {
      const int64_t end = min(k + kReflectors, steps);
      p.factor(k, end);
      p.apply(k, end, end, a.cols);
    }
  }

 private:
  struct Panels {
    const Team<T>& team;
    BlockMemory<T> memory;
    Strided<T> x;  // of contiguous columns
    T* tau;
    int64_t rows;

    void apply(int64_t begin, int64_t end, int64_t first, int64_t last) const {
      reflect_block<T>(team, memory, x.from(begin, begin), tau + begin, rows - begin, end - begin,
                       x.from(begin, first), last - first, true);
    }

    void factor(int64_t begin, int64_t end) const {
      constexpr int64_t kNarrow = 8;
      if (end - begin > kNarrow) {
        const int64_t middle = begin + ceil_div(ceil_div(end - begin, 2), kNarrow) * kNarrow;
        factor(begin, middle);
        apply(begin, middle, middle, end);
        return factor(middle, end);
      }
      for (int64_t k = begin; k < end; ++k) {
        T* const own = &x.at(k, k);
        tau[k] = make_reflector(team.loops, own, rows - k);
        for (int64_t j = k + 1; j < end; ++j) {
          T* const other = &x.at(k, j);
          const T sum = tau[k] * (other[0] + team.loops.dot(own + 1, other + 1, rows - k - 1));
          other[0] -= sum;
          team.loops.add_scaled(other + 1, -sum, own + 1, rows - k - 1);
        }
      }
    }
  };
};

// The product of reflectors as Qr leaves them.
template <class T>
struct Reflectors {
  Matrices q, v, tau;

  explicit Reflectors(const calls::HouseholderProduct& call)
      : q(call.q), v(call.v), tau(call.tau) {}

  int32_t dtype() const { return q.dtype; }
  int64_t matrices() const { return q.matrices; }
  int64_t work() const { return 2 * q.rows * q.cols * tau.cols; }
  Products products() const { return products_of_blocks(q.rows, q.cols, tau.cols); }
  int64_t scratch() const {
    Workspace memory(nullptr);
    memory.take<T>(tau.cols);
    BlockMemory<T>(&memory, q.rows, q.cols);
    return memory.bytes();
  }

  void solve(const Team<T>& team, int64_t n, Workspace memory) const {
    T* const scales = memory.take<T>(tau.cols);
    const Strided<const T> from = matrix<const T>(tau, n);
    for (int64_t k = 0; k < tau.cols; ++k) scales[k] = from.at(0, k);
    const Strided<T> x = matrix<T>(q, n);
    load_identity(x, q.rows, q.cols);
    reflect_all<T>(team, BlockMemory<T>(&memory, q.rows, q.cols), matrix<const T>(v, n), scales,
                   q.rows, tau.cols, x, q.cols);
  }
};

}  // namespace
}  // namespace dt::cpu
