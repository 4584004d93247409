#include "core/ops/pointwise/call.h"

#include "core/runtime/backend.h"
#include "core/runtime/iteration_space.h"
#include "core/runtime/transfer.h"

namespace dt {
namespace {

static_assert(kMaxGradientOperands + kMaxPointwiseInputs <= IterationSpace::kMaxOperands);

static_assert(kMaxPointwiseAttributes <= calls::PointwiseAttributes::kMax);

// Among bools a number is a truth value.
void run_row(int op, Span<const View> outputs, Span<const View> inputs, DType common,
             PointwiseAttributes attributes) {
  PointwiseCall call(common);
  call.outputs = outputs;
  call.inputs = inputs;
  for (const Scalar& x : attributes)
    call.attributes.add(is_bool(common) ? x.to_bool() : x.to_int64(), x.to_double());
  run(Op<PointwiseCall>{op}, call);
}

// Ops on a GPU take 0-dim tensors of the CPU as numbers, as PyTorch's do.
bool is_host_number(const Tensor& x, const Tensor& out) {
  return x.ndim() == 0 && x.device() == kCpu && out.device() != kCpu;
}

}  // namespace

void call_forward(const PointwiseRow& row, Span<const OperandRef> inputs, const Tensor& out,
                  DType common, PointwiseAttributes attributes) {
  IterationSpace space(out.sizes());
  space.add(out);
  for (int i = 0; i < row.inputs; ++i) {
    const OperandRef& x = inputs[i];
    if (x.is_number())
      space.add(x.number(), row.bool_inputs >> i & 1 ? kMaskDType : common);
    else if (is_host_number(x.tensor(), out))
      space.add(item(x.tensor()), row.bool_inputs >> i & 1 ? kMaskDType : common);
    else
      space.add(x.tensor());
  }
  space.finish();
  run_row(row.op, space.views(0, 1), space.views(1, row.inputs), common, attributes);
}

void call_backward(const PointwiseRow& row, TensorList outs, Span<const GradientOperand> operands,
                   PointwiseAttributes attributes) {
  const Tensor& grad = operands[0].tensor;
  IterationSpace space(grad.sizes());
  for (const Tensor& out : outs) {
    if (out.defined())
      space.add(out);
    else
      space.add_absent();
  }
  for (const GradientOperand& x : operands) {
    const DType dtype = x.is_condition ? kMaskDType : grad.dtype();
    if (!x.tensor.defined())
      space.add(x.number, dtype);
    else if (is_host_number(x.tensor, grad))
      space.add(item(x.tensor), dtype);
    else
      space.add(x.tensor);
  }
  space.finish();
  const auto n = static_cast<int>(outs.size());
  run_row(row.backward_op, space.views(0, n), space.views(n, static_cast<int>(operands.size())),
          grad.dtype(), attributes);
}

}  // namespace dt
