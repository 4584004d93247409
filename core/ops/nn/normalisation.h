// What layer_norm and batch_norm share. Forward and backward are one fused kernel each; the
// composition of plain ops next to them is what they mean, and serves when a graph of the backward
// is built.
#pragma once

#include <vector>

#include "core/autograd/record.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/views.gen.h"

namespace dt {

inline Tensor optional_contiguous(const Tensor& x) {
  return x.defined() ? contiguous(x) : x;
}

// x * weight + bias, where given, in the shape that broadcasts with x.
inline Tensor scale_and_shift(Tensor x, const Tensor& weight, const Tensor& bias, IntList shape) {
  if (weight.defined()) x = x * reshape(weight, shape);
  if (bias.defined()) x = x + reshape(bias, shape);
  return x;
}

// batch_norm, which alone refuses an eps of 0: PyTorch's instance_norm takes it.
Tensor batch_norm_of_any_eps(const Tensor& input, const Tensor& running_mean,
                             const Tensor& running_var, const Tensor& weight, const Tensor& bias,
                             bool training, double momentum, double eps);

// The gradients of input, weight and bias that backward asks for, from the first on, for a kernel
// to write.
inline void make_wanted(BackwardCall& b, const std::vector<Tensor>& inputs, int first = 0) {
  for (int i = first; i < 3; ++i) {
    const Tensor& x = inputs[i];
    if (b.wants(i)) b.results[i] = make_empty(x.sizes(), x.dtype(), x.device());
  }
}

}  // namespace dt
