#include "core/ops/pointwise/checks.h"

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/promotion.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

bool has_zero(const Operand& x) {
  if (x.is_number()) return x.number().to_int64() == 0;
  const GradMode off(false);
  return item(any(eq(x.tensor(), 0))).to_bool();
}

}  // namespace

void check_tensor_among(Span<const OperandRef> inputs) {
  for (const OperandRef& x : inputs) {
    if (!x.is_number()) return;
  }
  fail(Code::kTypeError, "one of the operands must be a tensor");
}

void check_divisor(const Tensor& input, const Operand& other) {
  const DType common = result_type({input, other});
  if (is_floating(common) || is_bool(common) || input.numel() == 0) return;
  if (!other.is_number() && other.tensor().device() != kCpu) return;  // it would be waited for
  DT_CHECK(!has_zero(narrowed(other, common)), kRuntimeError, "ZeroDivisionError");
}

void check_power(const Operand& input, const Operand& exponent) {
  check_tensor_among({input, exponent});
  if (!exponent.is_number() || is_floating(result_type({input, exponent}))) return;
  DT_CHECK(exponent.number().to_int64() >= 0, kRuntimeError,
           "Integers to negative integer powers are not allowed.");
  check_fits(exponent.number(), result_type({input, exponent}));
}

void check_bounds(const std::optional<Operand>& min, const std::optional<Operand>& max) {
  DT_CHECK(min || max, kRuntimeError,
           "torch.clamp: At least one of 'min' or 'max' must not be None");
}

void check_fill_mask(const Tensor& mask) {
  DT_CHECK(is_bool(mask.dtype()), kRuntimeError,
           "masked_fill_ only supports boolean masks, but got mask with dtype ",
           c_type_word(mask.dtype()));
}

void check_fill_value(const Tensor& input, const Operand& value) {
  if (value.is_number()) return check_fits(value.number(), input.dtype());
  const Tensor& v = value.tensor();
  DT_CHECK(v.ndim() == 0, kRuntimeError,
           "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           v.ndim(), " dimension(s).");
  if (v.device() == kCpu) check_fits(item(v), input.dtype());  // on a GPU it would be waited for
}

}  // namespace dt
