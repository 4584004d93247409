// Losses of single elements: squared, absolute, between the two, and binary cross-entropy.
#include "core/ops/loss/reduce_losses.h"

#include "core/autograd/record.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/autocast/autocast.h"
#include "core/ops/checks.h"
#include "core/ops/formula.h"
#include "core/ops/loss.gen.h"
#include "core/ops/loss/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/promotion.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/loss.gen.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// Loss weights broadcast to the losses; they make them neither larger nor wider.
Tensor weighted(const Tensor& losses, const Tensor& weight) {
  if (!weight.defined()) return losses;
  return to_dtype(mul(losses, expand(weight, losses.sizes())), losses.dtype());
}

// The derivative of a loss, which costs next to nothing while its elements are at hand.
struct Slope {
  Tensor tensor;  // undefined: not known
  uint32_t version = 0;

  // Somebody who was given it as a gradient may have changed it since.
  bool is_known() const { return tensor.defined() && tensor.version() == version; }
};

View run_of(const Tensor& x) {
  const int64_t n = x.numel();
  return View(x, {&n, 1}, {&kUnitStride, 1}, x.offset());
}

// The sum of squared errors over `divisor`, without a record. In the usual case that is one pass
// over memory, and fills in the slope if there is one to fill in.
Tensor squared_error_sum(const Tensor& x, const Tensor& target, double divisor, Slope* slope) {
  const GradMode no_grad(false);
  const bool alike = x.sizes() == target.sizes() && x.dtype() == target.dtype() &&
                     x.is_contiguous() && target.is_contiguous();
  if (!alike) {
    const Tensor losses = squared_error(x, target);
    return divisor == 1 ? sum(losses) : mean(losses);
  }
  const Tensor y = make_empty({}, x.dtype(), x.device());
  if (slope) slope->tensor = make_empty(x.sizes(), x.dtype(), x.device());
  SquaredErrorSumCall call;
  call.y = y;
  if (slope) call.slope = run_of(slope->tensor);
  call.x = run_of(x);
  call.target = run_of(target);
  call.divisor = divisor;
  run(op::squared_error_sum, call);
  if (slope) slope->version = slope->tensor.version();
  return y;
}

// The slope of a parabola, at every order: `scale` times what lies between the two.
void mse_loss_backward(BackwardCall& b, const Tensor& input, const Tensor& target,
                       const Slope& slope, double scale) {
  const bool is_known = b.is_seed && !b.create_graph && slope.is_known();
  if (b.wants(0) && is_known) b.results[0] = slope.tensor;
  if (b.wants(0) && !is_known)
    b.results[0] = squared_error_slope(b.grad_operand(), input, target, scale);
  if (b.wants(1)) b.results[1] = squared_error_slope(b.grad_operand(), target, input, scale);
}

// Losses times weights; their mean is over the weights. PyTorch composes this of ops, each of which
// has its own policy under autocast.
Tensor reduce_weighted(const Tensor& losses, const Tensor& weight, const Tensor& input,
                       Reduction reduction) {
  check_weight_sizes(weight, input);
  const Tensor products = mul(losses, weight);
  if (reduction == Reduction::kNone) return products;
  const Tensor total = autocast::sum(products);
  return reduction == Reduction::kSum ? total : true_divide(total, autocast::sum(weight));
}

}  // namespace

Tensor reduce_losses(const Tensor& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::kNone:
      return losses;
    case Reduction::kSum:
      return sum(losses);
    default:
      return mean(losses);
  }
}

// PyTorch's mse_loss, l1_loss and smooth_l1_loss expand their operands before these meet, so that a
// 0-d one counts in promotion like any other.
Tensor dimensioned(const Tensor& x, const Tensor& other) {
  return x.ndim() == 0 && other.ndim() > 0 && x.dtype() != other.dtype() ? reshape(x, {1}) : x;
}

// Reduced here rather than by recorded ops, so that backward has nothing left to compute, or one
// kernel: the slope of a parabola, at every order.
Tensor mse_loss(const Tensor& x, const Tensor& t, Reduction reduction, const Tensor& weight) {
  if (weight.defined()) {
    const Tensor errors = sub(dimensioned(x, t), dimensioned(t, x));
    return reduce_weighted(autocast::pow(errors, 2), weight, x, reduction);
  }
  const Tensor given = cast_to_fp32(x), wanted = cast_to_fp32(t);
  const Tensor input = dimensioned(given, wanted), target = dimensioned(wanted, given);
  const DType common = result_type({input, target});
  check_loss_dtype(common, "mse_cpu");
  if (reduction == Reduction::kNone) return squared_error(input, target);
  const int64_t losses = count_elements(broadcast_sizes(input.sizes(), target.sizes()));
  const double divisor = reduction == Reduction::kSum ? 1.0 : losses;
  Slope slope;
  const Tensor y = squared_error_sum(input, target, divisor, needs_graph(input) ? &slope : nullptr);
  if (!needs_graph(input) && !needs_graph(target)) return y;
  return record(
      "MseLossBackward0", y, {input, target},
      [slope, scale = 2 / divisor, x = Saved::input(input), t = Saved::input(target)](
          BackwardCall& b) { mse_loss_backward(b, x.get(b.node), t.get(b.node), slope, scale); });
}

Tensor l1_loss(const Tensor& x, const Tensor& t, Reduction reduction, const Tensor& weight) {
  const bool is_weighted = weight.defined();
  const Tensor input = is_weighted ? x : cast_to_fp32(x);
  const Tensor target = is_weighted ? t : cast_to_fp32(t);
  const Tensor losses = abs(sub(dimensioned(input, target), dimensioned(target, input)));
  if (is_weighted) return reduce_weighted(losses, weight, input, reduction);
  return reduce_losses(losses, reduction);
}

namespace {

// Bools are converted: there is no difference of them.
Tensor bent_errors(const Tensor& input, const Tensor& target, double bend, double curvature,
                   double slope) {
  const DType common = result_type({input, target});
  const auto number = [&](const Tensor& x) { return is_bool(x.dtype()) ? to_dtype(x, common) : x; };
  return bent_error(number(input), number(target), bend, curvature, slope);
}

}  // namespace

Tensor smooth_l1_loss(const Tensor& x, const Tensor& t, Reduction reduction, double beta) {
  const Tensor input = dimensioned(x, t), target = dimensioned(t, x);
  DT_CHECK(beta >= 0, kRuntimeError, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(input, target, reduction);
  check_loss_dtype(result_type({input, target}), "smooth_l1_cpu");
  return reduce_losses(bent_errors(input, target, beta, 1 / beta, 1), reduction);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, Reduction reduction, double delta,
                  const Tensor& weight) {
  DT_CHECK(delta > 0, kRuntimeError, "huber_loss does not support non-positive values for delta.");
  check_loss_dtype(result_type({input, target}), "huber_cpu");
  if (weight.defined()) check_weight_sizes(weight, input);
  check_output_dtype(input.dtype());
  const Tensor losses = to_dtype(bent_errors(input, target, delta, 1, delta), input.dtype());
  return reduce_losses(weight.defined() ? mul(losses, weight) : losses, reduction);
}

// What divides it is bounded, and would have no slope at 0 and 1: the derivative by the probability
// is PyTorch's, which adds to that and to what is left of 1.
Tensor cross_entropy_slope(const Tensor& probability, const Tensor& target) {
  const auto bounded = [](const Tensor& x) { return maximum((1.0 - x) * x, double(1e-12F)); };
  Tensor y;
  {
    const GradMode no_grad(false);
    y = (probability - target) / bounded(probability);
  }
  if (!needs_graph({probability, target})) return y;
  return record(
      "BinaryCrossEntropyBackwardBackward0", y, {probability, target},
      [bounded, x = Saved::input(probability), t = Saved::input(target)](BackwardCall& b) {
        const Tensor p = x.get(b.node), q = t.get(b.node), &grad = b.grad();
        if (b.wants(1)) b.results[1] = -grad / bounded(p);
        if (!b.wants(0)) return;
        const Tensor ends = (p + 1e-12) * (1.0 - p + 1e-12);
        b.results[0] = grad * (p * p - 2.0 * p * q + q) / (ends * ends);
      });
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            Reduction reduction) {
  check_binary_cross_entropy(input, target);
  return reduce_losses(weighted(binary_cross_entropy_element(input, target), weight), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const Tensor& weight, Reduction reduction,
                                        const Tensor& pos_weight) {
  check_binary_cross_entropy_with_logits(input, target, pos_weight);
  const Tensor losses =
      pos_weight.defined()
          ? binary_cross_entropy_with_logits_positive_element(input, target, pos_weight)
          : binary_cross_entropy_with_logits_element(input, target);
  return reduce_losses(weighted(to_dtype(losses, target.dtype()), weight), reduction);
}

}  // namespace dt
