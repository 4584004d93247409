// The functions that a product may apply to its result (DT_ACTIVATE_ in abi.h), for the kernels of
// every backend. Their derivatives follow from the result, so nothing else has to be kept.
#pragma once

#include "kernels/abi.h"
#include "kernels/functors.gen.h"

namespace dt {

// For a kernel that stores few elements. A loop over many chooses once, in front of it, so that it
// becomes vector code (kernels/cpu/gemm.h).
template <class T>
DT_FN T activate(int64_t activation, T x) {
  switch (activation) {
    case DT_ACTIVATE_RELU:
      return fn::relu::y<T>(nullptr, x);
    case DT_ACTIVATE_SIGMOID:
      return fn::sigmoid::y<T>(nullptr, x);
    case DT_ACTIVATE_TANH:
      return fn::tanh::y<T>(nullptr, x);
    default:
      return x;
  }
}

// The gradient of the function's argument, from that of its result and the result itself.
template <class T>
DT_FN T activation_gradient(int64_t activation, T grad, T result) {
  switch (activation) {
    case DT_ACTIVATE_RELU:
      return fn::relu_backward::y0<T>(nullptr, grad, result);
    case DT_ACTIVATE_SIGMOID:
      return fn::sigmoid_backward::y0<T>(nullptr, grad, result);
    case DT_ACTIVATE_TANH:
      return fn::tanh_backward::y0<T>(nullptr, grad, result);
    default:
      return grad;
  }
}

}  // namespace dt
