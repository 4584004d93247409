// The functions that a product may apply to its result (DT_ACTIVATE_ in abi.h), for the kernels of
// every backend. Their derivatives follow from the result, so nothing else has to be kept. They are
// the formulas of the schema's rows, not included from there: a new op must not recompile products.
#pragma once

#include "kernels/abi.h"
#include "kernels/math.h"

namespace dt {

struct Relu {
  template <class T>
  static DT_FN T y(T x) {
    return math::where(math::lt(x, T(0)), T(0), x);
  }
  template <class T>
  static DT_FN T gradient(T grad, T result) {
    return math::where(math::le(result, T(0)), T(0), grad);
  }
};

struct Sigmoid {
  template <class T>
  static DT_FN T y(T x) {
    return math::sigmoid(x);
  }
  template <class T>
  static DT_FN T gradient(T grad, T result) {
    return grad * ((T(1) - result) * result);
  }
};

struct Tanh {
  template <class T>
  static DT_FN T y(T x) {
    return math::tanh(x);
  }
  template <class T>
  static DT_FN T gradient(T grad, T result) {
    return grad * (T(1) - result * result);
  }
};

// For a kernel that stores few elements. A loop over many chooses once, in front of it, so that it
// becomes vector code (kernels/cpu/gemm.h).
template <class T>
DT_FN T activate(int64_t activation, T x) {
  switch (activation) {
    case DT_ACTIVATE_RELU:
      return Relu::y(x);
    case DT_ACTIVATE_SIGMOID:
      return Sigmoid::y(x);
    case DT_ACTIVATE_TANH:
      return Tanh::y(x);
    default:
      return x;
  }
}

// The gradient of the function's argument, from that of its result and the result itself.
template <class T>
DT_FN T activation_gradient(int64_t activation, T grad, T result) {
  switch (activation) {
    case DT_ACTIVATE_RELU:
      return Relu::gradient(grad, result);
    case DT_ACTIVATE_SIGMOID:
      return Sigmoid::gradient(grad, result);
    case DT_ACTIVATE_TANH:
      return Tanh::gradient(grad, result);
    default:
      return grad;
  }
}

}  // namespace dt
