#include "core/ops/pointwise/node.h"

#include "core/autograd/gradients.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise/call.h"
#include "core/ops/pointwise/rules.h"
#include "core/ops/promotion.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// What the gradients that will be asked for need. The rest is not kept, and may be overwritten.
uint8_t reads_for(const PointwiseRow& row, Span<const OperandRef> inputs) {
  uint8_t reads = 0;
  for (int i = 0; i < row.inputs; ++i) {
    if (!inputs[i].is_number() && inputs[i].tensor().requires_grad()) reads |= row.reads[i];
  }
  return reads;
}

// A gradient that was found by formulas which read `reads`.
Tensor flat_if(bool flat, uint8_t reads, const BackwardCall& call, const Tensor& gradient) {
  if (!flat) return gradient;
  return reads & kReadsResult ? call.flat_in_result(gradient) : call.flat_in_inputs(gradient);
}

}  // namespace

PointwiseNode::PointwiseNode(const PointwiseRow& row, Span<const OperandRef> inputs, DType common,
                             PointwiseAttributes attributes, Span<const OperandRef> given)
    : Node(row.node_name),
      row_(row),
      reads_(reads_for(row, inputs)),
      common_(common),
      attribute_count_(static_cast<int>(attributes.size())) {
  for (int i = 0; i < row.inputs; ++i) {
    if (!reads_input(i)) continue;
    if (inputs[i].is_number()) {
      number_input_[i] = inputs[i].number();
      continue;
    }
    const bool is_whole = !is_floating(given[i].tensor().dtype());
    input_[i] = Saved::input((is_whole ? given[i] : inputs[i]).tensor());
  }
  for (int i = 0; i < attribute_count_; ++i) attributes_[i] = attributes[i];
  connect(row.inputs, [&](int i) {
    const bool takes_part = !(row.bool_inputs >> i & 1) && !inputs[i].is_number();
    return takes_part ? gradient_edge(inputs[i].tensor()) : Edge();
  });
}

void PointwiseNode::save_result(const Tensor& y) {
  if (reads_ & kReadsResult) result_ = Saved::output(y);
}

void PointwiseNode::refuse_negative_slope() {
  is_refused_ = row_.slope_word && !(attributes_[0].to_double() >= 0);
}

void PointwiseNode::backward(BackwardCall& call) {
  if (released_) fail_released();
  DT_CHECK(!is_refused_, kRuntimeError, "In-place ", row_.slope_word,
           " backward calculation is triggered with a negative slope which is not supported. This "
           "is caused by calling in-place forward function with a negative slope, please call "
           "out-of-place version instead.");
  bool rest = false;
  for (int i = 0; i < row_.inputs; ++i) {
    if (!call.wants(i)) continue;
    DT_CHECK(row_.differentiable >> i & 1, kNotImplemented, "the derivative for '", row_.name,
             "' is not implemented.");
    if (passes_grad(i))
      call.results[i] = call.grad();
    else
      rest = true;
  }
  if (!rest) return;
  if (call.create_graph)
    by_formula(call);
  else
    by_kernel(call);
}

void PointwiseNode::release_saved() {
  if (!reads_) return;
  for (Saved& s : input_) s.reset();
  result_.reset();
  released_ = true;
}

bool PointwiseNode::passes_grad(int i) const {
  const int how = row_.passes[i];
  return how == 1 || (how >= 2 && attributes_[how - 2].to_double() == 1);
}

Tensor PointwiseNode::kept_input(int i) {
  const Tensor x = input_[i].get(this);
  if (!x.defined() || !is_narrow(common_) || is_floating(x.dtype())) return x;
  const bool stays = row_.bool_inputs >> i & 1 || keeps_digits(row_, x, i, common_);
  return stays ? x : to_dtype(x, common_);
}

void PointwiseNode::by_formula(BackwardCall& call) {
  PointwiseGradient g;
  g.grad = widened(to_dtype(call.grad(), common_));
  const DType dtype = g.grad.dtype();
  for (int i = 0; i < row_.inputs; ++i) {
    g.wants[i] = call.wants(i) && !passes_grad(i);
    if (!reads_input(i)) continue;
    if (!input_[i].defined()) {
      g.input[i] = full({}, narrowed(number_input_[i], dtype).number(), dtype, kCpu);
      continue;
    }
    const Tensor x = kept_input(i);
    // An integer has all the digits that the gradient has, as in the kernel.
    const bool is_condition = row_.bool_inputs >> i & 1;
    g.input[i] = is_condition ? x : is_floating(x.dtype()) ? widened(x) : to_dtype(x, dtype);
  }
  g.result = widened(result_.get(this));
  for (int i = 0; i < attribute_count_; ++i) g.attribute[i] = attributes_[i].to_double();
  row_.gradient(g);
  for (int i = 0; i < row_.inputs; ++i) {
    if (g.wants[i]) call.results[i] = flat_if(row_.flat, reads_, call, g.out[i]);
  }
}

// What was not kept is 0: only gradients that nobody wants look at it.
void PointwiseNode::by_kernel(BackwardCall& call) {
  const Tensor grad = to_dtype(call.grad(), common_);
  GradientOperand operands[kMaxGradientOperands] = {{grad}};
  int n = 1;
  for (int i = 0; i < row_.inputs; ++i) {
    if (!(row_.saves_input >> i & 1)) continue;
    operands[n].is_condition = row_.bool_inputs >> i & 1;
    operands[n].number = number_input_[i];
    if (reads_input(i)) operands[n].tensor = kept_input(i);
    ++n;
  }
  if (row_.saves_result) {
    if (reads_ & kReadsResult) operands[n].tensor = result_.get(this);
    ++n;
  }

  Tensor tensors[kMaxGradientOperands];
  for (int k = 0; k < n; ++k) tensors[k] = operands[k].tensor;
  const Dims strides = elementwise_strides(grad.sizes(), {tensors, n});
  Tensor outs[kMaxPointwiseInputs];
  int n_out = 0;
  for (int i = 0; i < row_.inputs; ++i) {
    if (!(row_.differentiable >> i & 1)) continue;
    if (call.wants(i) && !passes_grad(i)) {
      outs[n_out] = make_empty_strided(grad.sizes(), strides, grad.dtype(), grad.device());
      call.results[i] = outs[n_out];
    }
    ++n_out;
  }
  call_backward(row_, {outs, n_out}, {operands, n}, {attributes_, attribute_count_});
}

bool must_record(const PointwiseRow& row, Span<const OperandRef> inputs, DType out) {
  if (row.backward_op < 0 || !is_floating(out)) return false;
  for (int i = 0; i < row.inputs; ++i) {
    const bool takes_part = !(row.bool_inputs >> i & 1) && !inputs[i].is_number();
    if (takes_part && inputs[i].tensor().requires_grad()) return grad_enabled();
  }
  return false;
}

Tensor gradient_from_result(const PointwiseRow& row, const BackwardCall& call, const Tensor& grad,
                            const Tensor& y) {
  if (call.create_graph) {
    PointwiseGradient g;
    g.grad = grad;
    g.result = y;
    g.wants[0] = true;
    row.gradient(g);
    return flat_if(row.flat, kReadsResult, call, g.out[0]);
  }
  const Tensor x = make_empty_strided(grad.sizes(), elementwise_strides(grad.sizes(), {grad, y}),
                                      grad.dtype(), grad.device());
  const GradientOperand operands[] = {{grad}, {y}};
  call_backward(row, {x}, {operands, 2}, {});
  return x;
}

}  // namespace dt
