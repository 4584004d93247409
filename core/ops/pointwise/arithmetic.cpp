// Arithmetic that chooses among elementwise rows.
#include "core/autograd/gradients.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/overwrite.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise/checks.h"
#include "core/ops/promotion.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// Whether x to the power `number` is the cheaper op for it, with the same dtype.
bool is_exponent(const Operand& input, const Operand& exponent, double number) {
  return exponent.is_number() && exponent.number().to_double() == number && !input.is_number() &&
         is_floating(input.tensor().dtype());
}

// The only power of bools that there is: to True or False, numbers that is.
bool is_bool_power(const Operand& input, const Operand& exponent) {
  return exponent.is_number() && is_bool(result_type({input, exponent}));
}

// A derivative that is 0 whatever the base is, and so has no graph to it.
Tensor power_zero(const Tensor& x) {
  return record("PowerBackward0", ones_like(x.detach()), {x},
                [](BackwardCall& b) { b.results[0] = make_zeros(b.node->outputs[0]); });
}

}  // namespace

// ---- quotients

Tensor div(const Tensor& input, const Operand& other, RoundingMode rounding_mode) {
  if (rounding_mode == RoundingMode::kDefault) return true_divide(input, other);
  check_divisor(input, other);
  return rounding_mode == RoundingMode::kTrunc ? div_trunc(input, other) : div_floor(input, other);
}

const Tensor& div_(const Tensor& input, const Operand& other, RoundingMode rounding_mode) {
  if (rounding_mode == RoundingMode::kDefault) return true_divide_(input, other);
  check_divisor(input, other);
  return rounding_mode == RoundingMode::kTrunc ? div_trunc_(input, other)
                                               : div_floor_(input, other);
}

Tensor floor_divide(const Tensor& input, const Operand& other) {
  return div(input, other, RoundingMode::kFloor);
}

const Tensor& floor_divide_(const Tensor& input, const Operand& other) {
  return div_(input, other, RoundingMode::kFloor);
}

Tensor remainder(const Tensor& input, const Operand& other) {
  check_divisor(input, other);
  return modulo(input, other);
}

const Tensor& remainder_(const Tensor& input, const Operand& other) {
  check_divisor(input, other);
  return modulo_(input, other);
}

// ---- powers

Tensor pow(const Operand& input, const Operand& exponent) {
  check_power(input, exponent);
  if (is_bool_power(input, exponent)) {
    return exponent.number().to_bool() ? clone(input.tensor()) : ones_like(input.tensor());
  }
  if (is_exponent(input, exponent, 0)) return power_zero(input.tensor());
  if (is_exponent(input, exponent, 2)) return square(input.tensor());
  if (is_exponent(input, exponent, 0.5)) return power_half(input.tensor());
  if (is_exponent(input, exponent, -0.5)) return power_minus_half(input.tensor());
  if (is_exponent(input, exponent, -1)) return power_minus_one(input.tensor());
  if (is_exponent(input, exponent, 3)) return power_three(input.tensor());
  // Powers of a number are row-major.
  return power(input, input.is_number() ? contiguous(exponent.tensor()) : exponent);
}

const Tensor& pow_(const Tensor& input, const Operand& exponent) {
  check_power(input, exponent);
  if (is_bool_power(input, exponent)) return copy_(input, pow(input, exponent));
  if (is_exponent(input, exponent, 0)) return overwrite_alike(input, power_zero(input));
  if (is_exponent(input, exponent, 2)) return square_(input);
  if (is_exponent(input, exponent, 0.5)) return power_half_(input);
  if (is_exponent(input, exponent, -0.5)) return power_minus_half_(input);
  if (is_exponent(input, exponent, -1)) return power_minus_one_(input);
  if (is_exponent(input, exponent, 3)) return power_three_(input);
  return power_(input, exponent);
}

// ---- bounds

Tensor clamp(const Tensor& input, const std::optional<Operand>& min,
             const std::optional<Operand>& max) {
  check_bounds(min, max);
  if (!max) return clamp_min(input, *min);
  if (!min) return clamp_max(input, *max);
  return clamp_range(input, *min, *max);
}

const Tensor& clamp_(const Tensor& input, const std::optional<Operand>& min,
                     const std::optional<Operand>& max) {
  check_bounds(min, max);
  if (!max) return clamp_min_(input, *min);
  if (!min) return clamp_max_(input, *max);
  return clamp_range_(input, *min, *max);
}

// ---- choices

Tensor gelu(const Tensor& input, Approximate approximate) {
  return approximate == Approximate::kTanh ? gelu_tanh(input) : gelu_erf(input);
}

}  // namespace dt
