// Truth values of many elements: any, all, and comparisons of whole tensors.
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/checks.h"
#include "core/ops/reduce/reduced_dims.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

Tensor truth(Op<ReductionCall> op, const Tensor& x, std::optional<IntList> dim, bool keepdim) {
  const bool none = dim && dim->empty();  // unlike other reductions, not all of them
  const Tensor y = none ? ne(contiguous(x), 0)
                        : run_reduction(op, x, ReducedDims(x, dim, keepdim), kMaskDType, x.dtype());
  return x.dtype() == kByteDType ? to_dtype(y, kByteDType) : y;
}

}  // namespace

Tensor any(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  return truth(op::any, input, dim, keepdim);
}

Tensor all(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  return truth(op::all, input, dim, keepdim);
}

bool equal(const Tensor& input, const Tensor& other) {
  if (input.sizes() != other.sizes()) return false;
  const GradMode no_grad(false);
  return item(all(eq(input, other))).to_bool();
}

// |input - other| <= atol + rtol * |other|, where both are finite or equal.
Tensor isclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  check_isclose(input, other, rtol, atol);
  const GradMode no_grad(false);
  Tensor close = eq(input, other);
  if (equal_nan && is_floating(input.dtype()))
    close = logical_or(close, logical_and(isnan(input), isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  const DType wide = is_floating(input.dtype()) ? input.dtype() : context().default_dtype;
  const Tensor a = to_dtype(input, wide), b = to_dtype(other, wide);
  const Tensor difference = abs(sub(a, b));
  const Tensor near =
      logical_and(isfinite(difference), le(difference, add(mul(abs(b), rtol), atol)));
  return logical_or(close, near);
}

bool allclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return item(all(isclose(input, other, rtol, atol, equal_nan))).to_bool();
}

}  // namespace dt
