// The language of gradient formulas over Tensors: operators, and the few functions that have scalar
// twins in kernels/math.h but are no ops. With it, `grad * (T(1) - result * result)` means the same
// in both worlds.
#pragma once

#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"

namespace dt {

inline Tensor operator-(const Tensor& x) {
  return neg(x);
}

inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return add(a, b);
}
inline Tensor operator+(const Tensor& a, double b) {
  return add(a, b);
}
inline Tensor operator+(double a, const Tensor& b) {
  return add(b, a);
}

inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return sub(a, b);
}
inline Tensor operator-(const Tensor& a, double b) {
  return sub(a, b);
}
inline Tensor operator-(double a, const Tensor& b) {
  return rsub(b, a);
}

inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return mul(a, b);
}
inline Tensor operator*(const Tensor& a, double b) {
  return b == 1 ? a : mul(a, b);
}
inline Tensor operator*(double a, const Tensor& b) {
  return b * a;
}

inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return true_divide(a, b);
}
inline Tensor operator/(const Tensor& a, double b) {
  return true_divide(a, b);
}
inline Tensor operator/(double a, const Tensor& b) {
  return a * reciprocal(b);
}

// The complex conjugate; every dtype is real so far.
inline const Tensor& conj(const Tensor& x) {
  return x;
}
inline double conj(double x) {
  return x;
}

inline Tensor maximum(const Tensor& x, double bound) {
  return clamp_min(x, bound);
}
inline Tensor minimum(const Tensor& x, double bound) {
  return clamp_max(x, bound);
}

// The derivative of a binary cross-entropy by the probability (ops/loss/elements.cpp).
Tensor cross_entropy_slope(const Tensor& probability, const Tensor& target);

// Conditions on a row's numbers alone.
inline bool eq(double a, double b) {
  return a == b;
}
inline Tensor where(bool condition, const Tensor& yes, const Tensor& no) {
  return condition ? yes : no;
}
inline Tensor where(bool condition, const Tensor& yes, double no) {
  return condition ? yes : full_like(yes, no);
}

}  // namespace dt
