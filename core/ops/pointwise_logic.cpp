// Logic that chooses among elementwise rows, and filling where a mask says.
#include "core/autograd/inplace.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise/checks.h"
#include "core/ops/pointwise_logic.gen.h"

namespace dt {

Tensor bitwise_not(const Tensor& input) {
  return is_bool(input.dtype()) ? logical_not(input) : bitwise_complement(input);
}

namespace {

// The value as masked_fill writes it: in the dtype of the filled tensor, whatever its own, and not
// one of the elements that are written.
Operand fill_value(const Tensor& input, const Operand& value) {
  check_fill_value(input, value);
  if (!value.is_number()) {
    const Tensor& v = value.tensor();
    const bool shares = v.storage().get() == input.storage().get();
    return shares ? clone(v) : to_dtype(v, input.dtype());
  }
  const Scalar& number = value.number();
  if (is_bool(input.dtype())) return number.to_bool();
  if (is_integral(input.dtype())) return number.to_int64();
  return number;
}

}  // namespace

Tensor masked_fill(const Tensor& input, const Tensor& mask, const Operand& value) {
  check_fill_mask(mask);
  // The result is row-major, also where the mask alone has some of its dimensions.
  const bool grows = broadcast_sizes(input.sizes(), mask.sizes()) != input.sizes();
  return fill_where(contiguous(input), grows ? contiguous(mask) : mask, fill_value(input, value));
}

const Tensor& masked_fill_(const Tensor& input, const Tensor& mask, const Operand& value) {
  check_fill_mask(mask);
  return fill_where_(input, mask, fill_value(input, value));
}

}  // namespace dt
