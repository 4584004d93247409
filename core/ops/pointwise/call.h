// Calls of elementwise kernels: operands in one iteration space, attributes beside them.
#pragma once

#include "core/ops/pointwise.h"

namespace dt {

// Of a gradient kernel: the gradient, the inputs, the result. It has an output for each input.
constexpr int kMaxGradientOperands = kMaxPointwiseInputs + 2;

// out = the row's formula, computed in `common`.
void call_forward(const PointwiseRow& row, Span<const OperandRef> inputs, const Tensor& out,
                  DType common, PointwiseAttributes attributes);

// An operand of a gradient kernel: a tensor, or the number that stands for it where it is
// undefined.
struct GradientOperand {
  Tensor tensor;
  Scalar number = 0;
  bool is_condition = false;
};

// The gradients of the row's inputs in one pass over memory. `operands` begin with the gradient of
// the result; `outs` has an entry for each differentiable input, undefined where none is wanted.
void call_backward(const PointwiseRow& row, TensorList outs, Span<const GradientOperand> operands,
                   PointwiseAttributes attributes);

}  // namespace dt
