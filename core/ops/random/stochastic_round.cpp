#include "core/base/error.h"
#include "core/runtime/context.h"
#include "core/ops/copy.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/views.gen.h"

namespace dt {

// bfloat16 is the upper half of float32: a random number is added to the lower half, which is then
// cut off. What is carried is as likely as the lower half is large.
Tensor stochastic_round(const Tensor& input, DType dtype, const Ref<Generator>& generator) {
  DT_CHECK(input.dtype() == kDTypeOf<float> && dtype == kDTypeOf<BFloat16>, kRuntimeError,
           "stochastic rounding is from ", kDTypeOf<float>, " to ", kDTypeOf<BFloat16>, ", got ",
           input.dtype(), " to ", dtype);
  const GradMode no_grad(false);
  constexpr int64_t kLower = 0x10000;
  const Tensor bits = view_dtype(input, kDTypeOf<int32_t>);
  const Tensor noise = randint_like(bits, 0, kLower, generator);
  const Tensor cut = view_dtype(bitwise_and(add(bits, noise), -kLower), kDTypeOf<float>);
  return to_dtype(where(isfinite(input), cut, input), dtype);
}

}  // namespace dt
