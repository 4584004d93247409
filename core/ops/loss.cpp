// Losses of single elements: squared, absolute and binary cross-entropy.
#include "core/ops/loss.h"

#include "core/autograd/record.h"
#include "core/ops/checks.h"

namespace dt {
namespace {

// Loss weights broadcast to the losses; they never make them larger.
Tensor weighted(const Tensor& losses, const Tensor& weight) {
  return weight.defined() ? mul(losses, expand(weight, losses.sizes())) : losses;
}

void check_probabilities(const char* name, const Tensor& x) {
  if (x.numel() == 0 || x.device() != kCpu) return;  // a GPU would have to be waited for
  const GradMode no_grad(false);
  const bool valid = item(amin(x)).to_double() >= 0 && item(amax(x)).to_double() <= 1;
  DT_CHECK(valid, kRuntimeError, "all elements of ", name, " should be between 0 and 1");
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

// Reduced here rather than by recorded ops, so that backward is one kernel: the slope of a
// parabola, at every order.
Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  check_floating(is_floating(target.dtype()) ? target : input, "mse_cpu");
  if (reduction == Reduction::kNone) return squared_error(input, target);
  Tensor y;
  double scale = 2;
  {
    const GradMode no_grad(false);
    const Tensor losses = squared_error(input, target);
    y = reduce_losses(losses, reduction);
    if (reduction != Reduction::kSum) scale /= losses.numel();
  }
  if (!needs_graph(input) && !needs_graph(target)) return y;
  return record("MseLossBackward0", y, {input, target},
                [scale, x = Saved::input(input), t = Saved::input(target)](BackwardCall& b) {
                  const Tensor input = x.get(b.node), target = t.get(b.node);
                  if (b.wants(0))
                    b.results[0] = squared_error_slope(b.grad(), input, target, scale);
                  if (b.wants(1))
                    b.results[1] = squared_error_slope(b.grad(), target, input, scale);
                });
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  return reduce_losses(absolute_error(input, target), reduction);
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight,
                            Reduction reduction) {
  DT_CHECK(input.sizes() == target.sizes(), kValueError, "Using a target size (", target.sizes(),
           ") that is different to the input size (", input.sizes(),
           ") is deprecated. Please ensure they have the same size.");
  check_floating(input, "binary_cross_entropy");
  DT_CHECK(input.dtype() == target.dtype(), kRuntimeError, "Found dtype ",
           type_word(target.dtype()), " but expected ", type_word(input.dtype()));
  check_probabilities("input", input);
  check_probabilities("target", target);
  return reduce_losses(weighted(binary_cross_entropy_element(input, target), weight), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const Tensor& weight, Reduction reduction,
                                        const Tensor& pos_weight) {
  DT_CHECK(input.sizes() == target.sizes(), kValueError, "Target size (", target.sizes(),
           ") must be the same as input size (", input.sizes(), ")");
  const Operand positive = pos_weight.defined() ? Operand(pos_weight) : Operand(1);
  const Tensor losses = binary_cross_entropy_with_logits_element(input, target, positive);
  return reduce_losses(weighted(losses, weight), reduction);
}

}  // namespace dt
