// Softmax and its logarithm. Both gradients are functions of the result.
#include "core/ops/nn/softmax.h"

#include <initializer_list>
#include <limits>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"
#include "core/runtime/widen.h"

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

// The kernels' operands, all of one shape, as dense rows if all are; a number is one of one
// element.
struct SoftmaxRows {
  bool is_dense = true;
  int64_t n = 1, rows = 1;
  int dim = 0;

  SoftmaxRows(std::initializer_list<const Tensor*> operands, int along) {
    const Tensor& x = **operands.begin();
    if (x.ndim() > 0) n = x.size(along);
    rows = n == 0 ? 0 : x.numel() / n;
    for (const Tensor* t : operands) is_dense &= t->is_contiguous();
    is_dense &= x.ndim() == 0 || along == x.ndim() - 1;
    dim = is_dense ? 1 : along;
  }

  View view(const Tensor& t) const {
    return is_dense ? View(t, {rows, n}, {n, 1}, t.offset()) : View(t);
  }
};

// The longest dimension that a softmax does not go along; -1 if there is none.
int dim_across(const View& x, int dim) {
  int longest = -1;
  for (int d = 0; d < x.ndim; ++d) {
    if (d != dim && (longest < 0 || x.sizes[d] > x.sizes[longest])) longest = d;
  }
  return longest;
}

// Calls work(part) for each part of the operands; part(v) is that of an operand.
template <class Work>
void in_parts(int op, const View& x, int dim, const Work& work) {
  const int across = dim_across(x, dim);
  if (across < 0) return work([](const View& v) { return v; });
  in_widened_parts(op, x, across, [&](int64_t first, int64_t count) {
    work([=](const View& v) { return part_of(v, across, first, count); });
  });
}

Tensor gradient(const SoftmaxOp& op, const BackwardCall& b, const Tensor& y, int dim) {
  if (b.create_graph) return op.formula(b.grad(), y, dim);
  const Tensor gx = make_empty(y.sizes(), y.dtype(), y.device());
  const SoftmaxRows lines({&gx, &b.grad(), &y}, dim);
  const View to = lines.view(gx), g = lines.view(b.grad()), result = lines.view(y);
  in_parts(op.backward_op.number, g, lines.dim, [&](const auto& part) {
    SoftmaxBackwardCall call;
    call.gx = part(to);
    call.g = part(g);
    call.y = part(result);
    call.dim = lines.dim;
    run(op.backward_op, call);
  });
  return gx;
}

// Whether what lies side by side across the rows is so little that the CPU reads it faster from a
// copy.
bool is_scattered(const Tensor& x, int dim) {
  constexpr int64_t kFew = 16;
  if (x.device().type != DeviceType::kCpu || x.is_contiguous() || x.ndim() == 0) return false;
  if (x.strides()[dim] == 1 || dim == x.ndim() - 1) return false;
  int64_t run = 1;
  for (int d = x.ndim() - 1; d > dim && x.strides()[d] == run; --d) run *= x.size(d);
  return run < kFew;
}

// Scores may be -infinity without a mask, too: only the rows themselves tell.
void clear_rows_of_nothing(const Tensor& y, const Tensor& x) {
  const GradMode off(false);
  const double none = -std::numeric_limits<double>::infinity();
  masked_fill_(y, eq(amax(x.detach(), {{-1}}, true), none), 0);
}

Tensor apply(const SoftmaxOp& op, const Tensor& input, int64_t dim, DType dtype,
             bool clears_rows = false) {
  const int d = wrap_dim(dim, input.ndim());
  const Tensor x = dtype == DType::kDefault ? input : to_dtype(input, dtype);
  if (x.numel() == 0 && !is_floating(x.dtype())) return clone(x);  // nothing to be refused
  check_softmax(x, op_name(op.op.number), d);
  const Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  const Tensor source = is_scattered(x, d) ? contiguous(x.detach()) : x;
  const SoftmaxRows lines({&y, &source}, d);
  const View to = lines.view(y), from = lines.view(source);
  in_parts(op.op.number, from, lines.dim, [&](const auto& part) {
    SoftmaxCall call;
    call.y = part(to);
    call.x = part(from);
    call.dim = lines.dim;
    run(op.op, call);
  });
  if (clears_rows) clear_rows_of_nothing(y, x);
  if (!needs_graph(x)) return y;
  return record(op.node_name, y, {x}, [&op, d, saved = Saved::output(y)](BackwardCall& b) {
    b.results[0] = gradient(op, b, saved.get(b.node), d);
  });
}

}  // namespace

Tensor softmax(const Tensor& input, int64_t dim, DType dtype) {
  return apply(kSoftmax, input, dim, dtype);
}

Tensor softmax_of_scores(const Tensor& scores) {
  return apply(kSoftmax, scores, -1, DType::kDefault, true);
}

Tensor log_softmax(const Tensor& input, int64_t dim, DType dtype) {
  return apply(kLogSoftmax, input, dim, dtype);
}

}  // namespace dt
