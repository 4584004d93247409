// Elements that a mask chooses, and where they are.
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/checks.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"
#include "kernels/nonzero.h"

namespace dt {

Tensor masked_select(const Tensor& input, const Tensor& mask) {
  check_masked_select(mask);
  Dims sizes = broadcast_sizes(mask.sizes(), input.sizes());
  if (sizes.empty()) sizes.push_back(1);  // choosing from a number gives a list as well
  return index(expand(input, sizes), {expand(mask, sizes)});
}

Tensor nonzero(const Tensor& input) {
  const Tensor count = make_empty({}, kIndexDType, input.device());
  const Tensor places =
      make_empty({NonzeroChunks(input.numel()).chunks}, kIndexDType, input.device());
  NonzeroCountCall counting;
  counting.count = count;
  counting.places = places;
  counting.x = input;
  run(op::nonzero_count, counting);
  const Tensor y = make_empty({item(count).to_int64(), input.ndim()}, kIndexDType, input.device());
  NonzeroCall call;
  call.y = y;
  call.x = input;
  call.places = places;
  run(op::nonzero, call);
  return y;
}

Tensor nonzero_static(const Tensor& input, int64_t size, int64_t fill_value) {
  check_nonzero_static(size);
  const Tensor all = nonzero(input);
  const int64_t count = all.size(0);
  return count < size
             ? pad(all, {0, 0, 0, size - count}, PaddingMode::kConstant, Scalar(fill_value))
             : clone(narrow(all, 0, 0, size));
}

}  // namespace dt
