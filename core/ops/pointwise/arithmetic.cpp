// Arithmetic that chooses among elementwise rows, or checks what a kernel cannot report.
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/promotion.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

bool has_zero(const Operand& x) {
  if (x.is_number()) return x.number().to_int64() == 0;
  const GradMode off(false);
  return item(any(eq(x.tensor(), 0))).to_bool();
}

// Integers have no infinity to divide to: a zero divisor is an error, which PyTorch words like
// this.
void check_divisor(const Tensor& input, const Operand& other) {
  const DType common = result_type({input, other});
  if (is_floating(common) || is_bool(common) || input.numel() == 0) return;
  if (!other.is_number() && other.tensor().device() != kCpu) return;  // it would be waited for
  DT_CHECK(!has_zero(narrowed(other, common)), kRuntimeError, "ZeroDivisionError");
}

void check_power(const Operand& input, const Operand& exponent) {
  DT_CHECK(!input.is_number() || !exponent.is_number(), kTypeError,
           "pow: one of input and exponent must be a tensor");
  if (!exponent.is_number() || is_floating(result_type({input, exponent}))) return;
  DT_CHECK(exponent.number().to_int64() >= 0, kRuntimeError,
           "Integers to negative integer powers are not allowed.");
  check_fits(exponent.number(), result_type({input, exponent}));
}

// Whether x to the power `number` is the cheaper op for it, with the same dtype.
bool is_exponent(const Operand& input, const Operand& exponent, double number) {
  return exponent.is_number() && exponent.number().to_double() == number && !input.is_number() &&
         is_floating(input.tensor().dtype());
}

// The only power of bools that there is: to True or False, numbers that is.
bool is_bool_power(const Operand& input, const Operand& exponent) {
  return exponent.is_number() && is_bool(result_type({input, exponent}));
}

void check_bounds(const std::optional<Operand>& min, const std::optional<Operand>& max) {
  DT_CHECK(min || max, kRuntimeError,
           "torch.clamp: At least one of 'min' or 'max' must not be None");
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
  if (is_exponent(input, exponent, 2)) return square(input.tensor());
  if (is_exponent(input, exponent, 0.5)) return power_half(input.tensor());
  if (is_exponent(input, exponent, -0.5)) return power_minus_half(input.tensor());
  if (is_exponent(input, exponent, -1)) return power_minus_one(input.tensor());
  if (is_exponent(input, exponent, 3)) return mul(square(input.tensor()), input.tensor());
  // Powers of a number are row-major.
  return power(input, input.is_number() ? contiguous(exponent.tensor()) : exponent);
}

const Tensor& pow_(const Tensor& input, const Operand& exponent) {
  check_power(input, exponent);
  if (is_bool_power(input, exponent)) return copy_(input, pow(input, exponent));
  if (is_exponent(input, exponent, 2)) return square_(input);
  if (is_exponent(input, exponent, 0.5)) return power_half_(input);
  if (is_exponent(input, exponent, -0.5)) return power_minus_half_(input);
  if (is_exponent(input, exponent, -1)) return power_minus_one_(input);
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

Tensor bitwise_not(const Tensor& input) {
  return is_bool(input.dtype()) ? logical_not(input) : bitwise_complement(input);
}

}  // namespace dt
