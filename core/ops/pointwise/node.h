// The node of an elementwise op: what it keeps, and the two ways to its gradient.
#pragma once

#include "core/autograd/record.h"
#include "core/ops/pointwise.h"

namespace dt {

class PointwiseNode final : public Node {
 public:
  // Keeps those inputs that the gradients which can be asked for read: integers as they were given,
  // also where the kernel took them as narrow floats. It computed in `common`.
  PointwiseNode(const PointwiseRow& row, Span<const OperandRef> inputs, DType common,
                PointwiseAttributes attributes, Span<const OperandRef> given);

  // Keeps the result, if a gradient reads it.
  void save_result(const Tensor& y);
  bool reads_input(int i) const { return reads_ >> i & 1; }
  // An in-place op saved a clone of the input that it overwrites.
  void save_input(int i, const Tensor& x) { input_[i] = Saved::input(x); }
  // What an in-place op has written has no gradient, as PyTorch has it.
  void refuse_negative_slope();

  void backward(BackwardCall& call) override;
  void release_saved() override;

 private:
  bool passes_grad(int i) const;
  // An input that was kept, as the kernel took it.
  Tensor kept_input(int i);
  // With a graph: the formulas over Tensors.
  void by_formula(BackwardCall& call);
  // Without: the formulas as a kernel.
  void by_kernel(BackwardCall& call);

  const PointwiseRow& row_;
  const uint8_t reads_;  // as PointwiseRow::reads
  const DType common_;   // wider than what was written in place may be
  Saved input_[kMaxPointwiseInputs], result_;
  Scalar number_input_[kMaxPointwiseInputs] = {0, 0, 0};
  Scalar attributes_[kMaxPointwiseAttributes] = {0, 0, 0, 0};
  int attribute_count_;
  bool released_ = false, is_refused_ = false;
};

// Whether an op of the row on these inputs becomes part of a graph; `out` is its result's dtype.
bool must_record(const PointwiseRow& row, Span<const OperandRef> inputs, DType out);

// The gradient of the one input of a row whose formula reads nothing but the result y, for an op
// that ends with it: `grad` is that of y.
Tensor gradient_from_result(const PointwiseRow& row, const BackwardCall& call, const Tensor& grad,
                            const Tensor& y);

}  // namespace dt
