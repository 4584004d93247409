// Softmax and its logarithm. Both gradients are functions of the result.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"

namespace dt {
namespace {

// `formula(g, y, dim)` is the gradient over Tensors, for when a graph of the backward is built.
using SoftmaxFormula = Tensor (*)(const Tensor& g, const Tensor& y, int dim);

struct SoftmaxOp {
  const Op<SoftmaxCall>& op;
  const Op<SoftmaxBackwardCall>& backward_op;
  const char* node_name;
  SoftmaxFormula formula;
};

Tensor softmax_formula(const Tensor& g, const Tensor& y, int dim) {
  return y * (g - sum(g * y, {{dim}}, true));
}

Tensor log_softmax_formula(const Tensor& g, const Tensor& y, int dim) {
  return g - exp(y) * sum(g, {{dim}}, true);
}

constexpr SoftmaxOp kSoftmax = {op::softmax, op::softmax_backward, "SoftmaxBackward0",
                                softmax_formula};
constexpr SoftmaxOp kLogSoftmax = {op::log_softmax, op::log_softmax_backward, "LogSoftmaxBackward0",
                                   log_softmax_formula};

// The kernels' operand: a number is a row of one element.
View with_rows(const Tensor& x) {
  return x.ndim() == 0 ? View(x, {1}, {1}, x.offset()) : View(x);
}

Tensor gradient(const SoftmaxOp& op, const BackwardCall& b, const Tensor& y, int dim) {
  if (b.create_graph) return op.formula(b.grad(), y, dim);
  const Tensor gx = make_empty(y.sizes(), y.dtype(), y.device());
  SoftmaxBackwardCall call;
  call.gx = with_rows(gx);
  call.g = with_rows(b.grad());
  call.y = with_rows(y);
  call.dim = dim;
  run(op.backward_op, call);
  return gx;
}

Tensor apply(const SoftmaxOp& op, const Tensor& input, int64_t dim, DType dtype) {
  const int d = wrap_dim(dim, input.ndim());
  const Tensor x = dtype == DType::kDefault ? input : to_dtype(input, dtype);
  if (x.numel() == 0 && !is_floating(x.dtype())) return clone(x);  // nothing to be refused
  check_softmax(x, op_name(op.op.number), d);
  const Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  SoftmaxCall call;
  call.y = with_rows(y);
  call.x = with_rows(x);
  call.dim = d;
  run(op.op, call);
  if (!needs_graph(x)) return y;
  return record(op.node_name, y, {x}, [&op, d, saved = Saved::output(y)](BackwardCall& b) {
    b.results[0] = gradient(op, b, saved.get(b.node), d);
  });
}

}  // namespace

Tensor softmax(const Tensor& input, int64_t dim, DType dtype) {
  return apply(kSoftmax, input, dim, dtype);
}

Tensor log_softmax(const Tensor& input, int64_t dim, DType dtype) {
  return apply(kLogSoftmax, input, dim, dtype);
}

}  // namespace dt
