// linear: a matrix product that may add a bias and end with an activation, in one kernel call.
#include "core/autograd/engine.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/linalg/multiply.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise/node.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"

namespace dt {
namespace {

// All gradients of a small layer by one kernel, if the backend has one for it. Undefined: x or w if
// no gradient that is wanted needs it, y if there is no activation.
bool small_linear_backward(BackwardCall& call, const Tensor& g, const Tensor& x, const Tensor& w,
                           const Tensor& y, Activation activation, int bias_ndim) {
  if (call.create_graph || (call.wants(2) && bias_ndim != 1)) return false;
  Tensor gx, gw, gb;
  if (call.wants(0)) gx = make_empty({g.size(0), w.size(1)}, g.dtype(), g.device());
  if (call.wants(1)) gw = make_empty({g.size(1), x.size(1)}, g.dtype(), g.device());
  if (call.wants(2)) gb = make_empty({g.size(1)}, g.dtype(), g.device());
  LinearBackwardCall kernel;
  kernel.gx = gx;
  kernel.gweight = gw;
  kernel.gbias = gb;
  kernel.g = g;
  kernel.x = x;
  kernel.weight = w;
  kernel.y = y;
  kernel.activation = activation;
  if (!run_shortcut(op::linear_backward, kernel)) return false;
  call.results[0] = gx;
  call.results[1] = gw;
  if (call.wants(2)) call.results[2] = gb;
  return true;
}

// Through the activation first, unless one kernel does both.
void linear_backward(BackwardCall& call, const Tensor& x, const Tensor& w, const Tensor& y,
                     Activation activation, int bias_ndim, Order order_x, Order order_w) {
  if (small_linear_backward(call, call.grad(), x, w, y, activation, bias_ndim)) return;
  Tensor g = call.grad();
  if (activation != Activation::kDefault) {
    g = gradient_from_result(activation_row(activation), call, g, y);
    if (small_linear_backward(call, g, x, w, Tensor(), Activation::kDefault, bias_ndim)) return;
  }
  if (call.wants(0)) call.results[0] = mm_product({g, false}, {w, false}, order_x);
  if (call.wants(1)) call.results[1] = mm_product({g, true}, {x, false}, order_w);
  if (call.wants(2)) call.results[2] = addend_gradient(g, bias_ndim);
}

// activation(input [n, in] @ weight^T [in, out] + bias), in one kernel call.
Tensor linear_rows(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   Activation activation) {
  check_factors({input, false}, {weight, true}, bias.defined());
  Tensor y;
  if (bias.defined()) {
    check_addend_dtype(bias, weight);
    const Addend addend{bias};
    y = multiply({input, false}, {weight, true}, &addend, activation);
  } else {
    y = multiply({input, false}, {weight, true}, nullptr, activation);
  }
  const bool wants_input = needs_graph(input), wants_weight = needs_graph(weight);
  if (!wants_input && !wants_weight && !needs_graph(bias)) return y;
  if (!wants_input && !wants_weight && activation == Activation::kDefault)
    return record_addend(y, bias, 1);
  return record(linear_node_name(activation), y, {input, weight, bias},
                [input = save_if(wants_weight, input), weight = save_if(wants_input, weight),
                 result = activation == Activation::kDefault ? Saved() : Saved::output(y),
                 activation, bias_ndim = bias.defined() ? bias.ndim() : 0,
                 order_x = order_of(input), order_w = order_of(weight)](BackwardCall& call) {
                  const Tensor x = call.wants(1) ? input.get(call.node) : Tensor();
                  const Tensor w = call.wants(0) ? weight.get(call.node) : Tensor();
                  linear_backward(call, x, w, result.get(call.node), activation, bias_ndim, order_x,
                                  order_w);
                });
}

Tensor linear_of(const Tensor& input, const Tensor& weight, const Tensor& bias,
                 Activation activation) {
  if (input.ndim() == 2) return linear_rows(input, weight, bias, activation);
  Dims sizes = input.sizes();
  sizes[input.ndim() - 1] = weight.size(0);
  const Tensor rows = reshape(input, {count_rows(input), input.size(-1)});
  return unsafe_view(linear_rows(rows, weight, bias, activation), sizes);
}

}  // namespace

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check_linear(input, weight, bias);
  if (weight.ndim() == 1) {
    const Tensor y = matmul(input, weight);
    return bias.defined() ? add(y, bias) : y;
  }
  return linear_of(input, weight, bias, Activation::kDefault);
}

Tensor linear_activation(const Tensor& input, const Tensor& weight, const Tensor& bias,
                         Activation activation) {
  const bool has_kernel = input.ndim() > 0 && weight.ndim() == 2 && is_floating(input.dtype());
  if (has_kernel) return linear_of(input, weight, bias, activation);
  return pointwise(activation_row(activation), {linear(input, weight, bias)});
}

}  // namespace dt
