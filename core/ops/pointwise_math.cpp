// Mathematical functions that choose among elementwise rows, or check what a row cannot say.
#include <cmath>

#include "core/autograd/inplace.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise/checks.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/promotion.h"

namespace dt {
namespace {

Operand as_real(const Operand& x) {
  return x.is_number() ? x : Operand(to_dtype(x.tensor(), kRealDType));
}

void check_alike(const Tensor& input, const Tensor& other, const char* argument) {
  DT_CHECK(input.dtype() == other.dtype(), kRuntimeError, "expected dtype ",
           c_type_word(input.dtype()), " for `", argument, "` but got dtype ",
           c_type_word(other.dtype()));
}

void check_lerp(const Tensor& input, const Tensor& end, const Operand& weight) {
  const bool is_spread = weight.is_number() || weight.tensor().ndim() == 0;
  check_alike(input, end, "end");
  if (!is_spread) check_alike(input, weight.tensor(), "weight");
  // A weight without dimensions makes floats of integers.
  if (weight.is_number())
    check_floating(input, "lerp_kernel_scalar");
  else if (!is_floating(weight.tensor().dtype()))
    check_floating(input, "lerp_kernel_tensor");
}

void check_heaviside(const Tensor& input, const Tensor& values) {
  DT_CHECK(input.dtype() == values.dtype(), kRuntimeError,
           "heaviside is not yet implemented for tensors with different dtypes.");
}

// Among integers a factor is cut to one; a bool is a number.
Scalar factor_for(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
                  const Scalar& value) {
  const DType dtype = result_type({input, tensor1, tensor2});
  if (is_floating(dtype) && (value.is_floating() || value.is_beyond_int64())) return value;
  if (!is_floating(dtype)) check_fits(value, dtype);
  return Scalar(value.to_int64());
}

void check_addcdiv(const Tensor& tensor1, const Tensor& tensor2) {
  DT_CHECK(is_floating(tensor1.dtype()) || is_floating(tensor2.dtype()), kRuntimeError,
           "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
           "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can "
           "be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
           "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
           "addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
           "tensor2), for all dtypes.");
}

// What stands for infinity: the number that was given, or the dtype's largest.
double largest(DType t, std::optional<double> given) {
  if (given) return *given;
  return visit(t, [](auto type) {
    return static_cast<double>(std::numeric_limits<typename decltype(type)::type>::max());
  });
}

double lowest(DType t, std::optional<double> given) {
  return given ? *given : -largest(t, {});
}

// 10^exponent, or 1 if that is a fraction.
double power_of_ten(double exponent) {
  return exponent > 0 ? std::pow(10.0, exponent) : 1.0;
}

// A negative eps bounds nothing.
bool is_bound(std::optional<double> eps) {
  return eps && !(*eps < 0);
}

}  // namespace

Tensor logit(const Tensor& input, std::optional<double> eps) {
  return is_bound(eps) ? log_odds_within(input, *eps, 1 - *eps) : log_odds(input);
}

const Tensor& logit_(const Tensor& input, std::optional<double> eps) {
  return is_bound(eps) ? log_odds_within_(input, *eps, 1 - *eps) : log_odds_(input);
}

Tensor float_power(const Operand& input, const Operand& exponent) {
  return pow(as_real(input), as_real(exponent));
}

const Tensor& float_power_(const Tensor& input, const Operand& exponent) {
  DT_CHECK(input.dtype() == kRealDType, kRuntimeError, "the base given to float_power_ has dtype ",
           type_word(input.dtype()), " but the operation's result requires dtype ",
           type_word(kRealDType));
  return pow_(input, as_real(exponent));
}

Tensor round_decimals(const Tensor& input, int64_t decimals) {
  check_floating(input, decimals == 0 ? "round_vml_cpu" : "round_cpu");
  const double digits = static_cast<double>(decimals);
  return round_scaled(input, power_of_ten(digits), power_of_ten(-digits));
}

const Tensor& round_decimals_(const Tensor& input, int64_t decimals) {
  check_floating(input, decimals == 0 ? "round_vml_cpu" : "round_cpu");
  const double digits = static_cast<double>(decimals);
  return round_scaled_(input, power_of_ten(digits), power_of_ten(-digits));
}

Tensor fmod(const Tensor& input, const Operand& other) {
  check_divisor(input, other);
  return modulo_trunc(input, other);
}

const Tensor& fmod_(const Tensor& input, const Operand& other) {
  check_divisor(input, other);
  return modulo_trunc_(input, other);
}

Tensor positive(const Tensor& input) {
  DT_CHECK(!is_bool(input.dtype()), kRuntimeError,
           "The `+` operator, on a bool tensor is not supported.");
  return input;
}

Tensor heaviside(const Tensor& input, const Tensor& values) {
  check_heaviside(input, values);
  return unit_step(input, values);
}

const Tensor& heaviside_(const Tensor& input, const Tensor& values) {
  check_heaviside(input, values);
  return unit_step_(input, values);
}

Tensor nan_to_num(const Tensor& input, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  const DType t = input.dtype();
  if (!is_floating(t)) return clone(input);
  return replace_nonfinite(input, nan.value_or(0), largest(t, posinf), lowest(t, neginf));
}

const Tensor& nan_to_num_(const Tensor& input, std::optional<double> nan,
                          std::optional<double> posinf, std::optional<double> neginf) {
  const DType t = input.dtype();
  if (!is_floating(t)) {  // nothing is written, so that the memory may be expanded
    finish_inplace(input, {});
    return input;
  }
  return replace_nonfinite_(input, nan.value_or(0), largest(t, posinf), lowest(t, neginf));
}

Tensor lerp(const Tensor& input, const Tensor& end, const Operand& weight) {
  check_lerp(input, end, weight);
  return lerp_element(input, end, weight);
}

const Tensor& lerp_(const Tensor& input, const Tensor& end, const Operand& weight) {
  check_lerp(input, end, weight);
  return lerp_element_(input, end, weight);
}

Tensor addcmul(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  return multiply_add(input, tensor1, tensor2, factor_for(input, tensor1, tensor2, value));
}

const Tensor& addcmul_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value) {
  return multiply_add_(input, tensor1, tensor2, factor_for(input, tensor1, tensor2, value));
}

Tensor addcdiv(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  check_addcdiv(tensor1, tensor2);
  return divide_add(input, tensor1, tensor2, value);
}

const Tensor& addcdiv_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value) {
  check_addcdiv(tensor1, tensor2);
  return divide_add_(input, tensor1, tensor2, value);
}

}  // namespace dt
