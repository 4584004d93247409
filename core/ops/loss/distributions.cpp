// Losses between distributions, and the negative logarithms of what targets are likely to be.
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/loss.gen.h"
#include "core/ops/loss/checks.h"
#include "core/ops/loss/reduce_losses.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// log(n!), nearly, of counts above 1.
Tensor stirling(const Tensor& n) {
  const Tensor value = n * log(n) - n + 0.5 * log(kTwoPi * n);
  return masked_fill(value, le(n, 1), 0);
}

// The gradient of a variance that was raised to eps is that of a variance of eps.
Tensor at_least(const Tensor& var, double eps) {
  const Tensor raised = clone(var);
  const GradMode no_grad(false);
  clamp_min_(raised, eps);
  return raised;
}

}  // namespace

Tensor kl_div(const Tensor& input, const Tensor& target, DivergenceReduction reduction,
              bool log_target) {
  check_kl_div(input, target);
  const Tensor losses =
      log_target ? exp(target) * (target - input) : xlogy(target, target) - target * input;
  switch (reduction) {
    case DivergenceReduction::kNone:
      return losses;
    case DivergenceReduction::kSum:
      return sum(losses);
    case DivergenceReduction::kBatchmean:
      return input.ndim() == 0 ? sum(losses) : sum(losses) / static_cast<double>(input.size(0));
    default:
      return mean(losses);
  }
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, Reduction reduction) {
  Tensor losses = log_input ? exp(input) - target * input : input - target * log(input + eps);
  // Logarithms of integers are float32, the losses as narrow as the input.
  if (full) losses = to_dtype(losses + stirling(target), losses.dtype());
  return reduce_losses(losses, reduction);
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Operand& var, bool full,
                         double eps, Reduction reduction) {
  Tensor variance = var.is_number() ? mul(ones_like(input), var.number()) : var.tensor();
  check_variance(var, variance, input);
  if (variance.sizes() != input.sizes() && variance.ndim() < input.ndim())
    variance = unsqueeze(variance, -1);
  variance = at_least(variance, eps);
  Tensor losses = 0.5 * (log(variance) + square(input - target) / variance);
  if (full) losses = losses + 0.5 * std::log(kTwoPi);
  return reduce_losses(losses, reduction);
}

}  // namespace dt
