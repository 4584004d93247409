// Two number-like types that a formula of functors_*.gen.h can be evaluated over besides float and
// double:
// - Probe counts what a formula does, at compile time: its cost, whether it calls what answers NaN
// where its fast form does not reach (sin, cos, tan, and remainders), and whether it calls what no
// vector code is made of;
// - Exact<T> is T with the slow, exact forms of these (see math_host_trig.h, math_host_pow.h).
// Formulas call dt::math functions by qualified name, so the overloads must be declared before
// functors_*.gen.h.
#pragma once

#include "kernels/math_elementwise.h"

namespace dt::math {

struct Probe {
  int operations = 0;
  bool partial = false, scalar = false;
  constexpr Probe() = default;
  constexpr explicit Probe(double) {}
  constexpr Probe(int operations, bool partial, bool scalar)
      : operations(operations), partial(partial), scalar(scalar) {}
};

// Functions of this cost are scalar loops.
constexpr int kScalarLoop = 100;

constexpr Probe cost(int operations, Probe a, Probe b = {}, Probe c = {}) {
  return {operations + a.operations + b.operations + c.operations,
          a.partial || b.partial || c.partial,
          operations >= kScalarLoop || a.scalar || b.scalar || c.scalar};
}

template <class T>
struct Exact {
  T value;
  Exact() = default;
  DT_FN Exact(T value) : value(value) {}
};

// Functions and operators, with their cost in instructions of vector code, or of a scalar loop.
// clang-format off
#define DT_UNARY_FUNCTIONS(X)                                                     \
  X(abs, 1) X(sign, 3) X(floor, 1) X(ceil, 1) X(trunc, 1) X(round, 1)             \
  X(exp, 16) X(expm1, 16) X(log, 25) X(log1p, 30) X(sqrt, 6) X(rsqrt, 10)         \
  X(tanh, 30) X(sigmoid, 22) X(erf, 30) X(square, 1) X(conj, 0)       \
  X(logsigmoid, 51) X(exp2, 20) X(log2, 70) X(log10, 70)                          \
  X(asin, 50) X(acos, 50) X(atan, 40) X(sinh, 40) X(cosh, 35)                     \
  X(asinh, 70) X(acosh, 60) X(atanh, 70)                                          \
  X(erfc, 80) X(erfcx, 90) X(erfinv, 90) X(ndtri, 95) X(lgamma, 99) X(digamma, 99) X(trigamma, 60)
// clang-format on
#define DT_BINARY_FUNCTIONS(X) \
  X(maximum, 3)                \
  X(minimum, 3)                \
  X(pow, 80)                   \
  X(div_trunc, 8)              \
  X(copysign, 2) X(atan2, 60) X(hypot, 20) X(xlogy, 28) X(xlog1py, 32) X(zeta, 1500)
#define DT_COMPARISONS(X) X(eq, ==) X(ne, !=) X(lt, <) X(le, <=) X(gt, >) X(ge, >=)
#define DT_OPERATORS(X) X(+, 1) X(-, 1) X(*, 1) X(/, 6)

#define DT_ROW(name, operations)      \
  constexpr Probe name(Probe a) {     \
    return cost(operations, a);       \
  }                                   \
  template <class T>                  \
  DT_MATH Exact<T> name(Exact<T> a) { \
    return name(a.value);             \
  }
DT_UNARY_FUNCTIONS(DT_ROW)
#undef DT_ROW

#define DT_ROW(name, operations)                  \
  constexpr Probe name(Probe a, Probe b) {        \
    return cost(operations, a, b);                \
  }                                               \
  template <class T>                              \
  DT_MATH Exact<T> name(Exact<T> a, Exact<T> b) { \
    return name(a.value, b.value);                \
  }
DT_BINARY_FUNCTIONS(DT_ROW)
#undef DT_ROW

#define DT_ROW(name, symbol)                  \
  constexpr Probe name(Probe a, Probe b) {    \
    return cost(1, a, b);                     \
  }                                           \
  template <class T>                          \
  DT_MATH bool name(Exact<T> a, Exact<T> b) { \
    return a.value symbol b.value;            \
  }
DT_COMPARISONS(DT_ROW)
#undef DT_ROW

#define DT_ROW(symbol, operations)                           \
  constexpr Probe operator symbol(Probe a, Probe b) {        \
    return cost(operations, a, b);                           \
  }                                                          \
  template <class T>                                         \
  DT_MATH Exact<T> operator symbol(Exact<T> a, Exact<T> b) { \
    return a.value symbol b.value;                           \
  }
DT_OPERATORS(DT_ROW)
#undef DT_ROW

#undef DT_UNARY_FUNCTIONS
#undef DT_BINARY_FUNCTIONS
#undef DT_COMPARISONS
#undef DT_OPERATORS

constexpr Probe operator-(Probe a) {
  return cost(1, a);
}
constexpr Probe logical_and(Probe a, Probe b) {
  return cost(1, a, b);
}
constexpr Probe logical_or(Probe a, Probe b) {
  return cost(1, a, b);
}
constexpr Probe where(Probe condition, Probe a, Probe b) {
  return cost(1, condition, a, b);
}
constexpr Probe where(bool, Probe a, Probe b) {
  return cost(1, a, b);
}
constexpr Probe bessel_i(Probe a, Probe b, Probe c) {
  return cost(99, a, b, c);
}
constexpr Probe bessel(Probe a, Probe b) {
  return cost(1500, a, b);
}
constexpr Probe gamma_part(Probe a, Probe b, Probe c) {
  return cost(800, a, b, c);
}
constexpr Probe orthogonal_polynomial(Probe a, Probe b, Probe c) {
  return cost(200, a, b, c);
}
constexpr Probe sin(Probe a) {
  return {a.operations + 40, true, a.scalar};
}
constexpr Probe cos(Probe a) {
  return {a.operations + 40, true, a.scalar};
}

constexpr Probe tan(Probe a) {
  return {a.operations + 60, true, a.scalar};
}
constexpr Probe fmod(Probe a, Probe b) {
  return cost(40, {0, true, false}, a, b);
}
constexpr Probe modulo(Probe a, Probe b) {
  return cost(6, fmod(a, b));
}
constexpr Probe div_floor(Probe a, Probe b) {
  return cost(30, fmod(a, b));
}
// A predicate's answer is no number that costs anything more: the loop is a few instructions.
constexpr bool isfinite(Probe) {
  return false;
}

template <class T>
DT_MATH Exact<T> operator-(Exact<T> a) {
  return -a.value;
}

template <class T>
DT_MATH Exact<T> sin(Exact<T> a) {
  return exact_sin(a.value);
}

template <class T>
DT_MATH Exact<T> cos(Exact<T> a) {
  return exact_cos(a.value);
}

template <class T>
DT_MATH Exact<T> tan(Exact<T> a) {
  return exact_tan(a.value);
}

template <class T>
DT_MATH Exact<T> fmod(Exact<T> a, Exact<T> b) {
  return exact_fmod(a.value, b.value);
}

template <class T>
DT_MATH Exact<T> modulo(Exact<T> a, Exact<T> b) {
  return float_modulo(b.value, exact_fmod(a.value, b.value));
}

template <class T>
DT_MATH Exact<T> div_floor(Exact<T> a, Exact<T> b) {
  return float_div_floor(a.value, b.value, exact_fmod(a.value, b.value));
}

}  // namespace dt::math
