// Masks: filling and choosing by a condition, the positions of nonzero elements, triangles.
#include <algorithm>

#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/overwrite.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"

namespace dt {
namespace {

// The value as masked_fill writes it: in the dtype of the filled tensor, whatever its own, and not
// one of the elements that are written.
Operand fill_value(const Tensor& input, const Operand& value) {
  if (!value.is_number()) {
    const Tensor& v = value.tensor();
    DT_CHECK(v.ndim() == 0, kRuntimeError,
             "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
             v.ndim(), " dimension(s).");
    if (v.device() == kCpu) check_fits(item(v), input.dtype());  // on a GPU it would be waited for
    const bool shares = v.storage().get() == input.storage().get();
    return shares ? clone(v) : to_dtype(v, input.dtype());
  }
  const Scalar& number = value.number();
  check_fits(number, input.dtype());
  if (is_bool(input.dtype())) return number.to_bool();
  if (is_integral(input.dtype())) return number.to_int64();
  return number;
}

void check_mask(const Tensor& mask) {
  DT_CHECK(is_bool(mask.dtype()), kRuntimeError,
           "masked_fill_ only supports boolean masks, but got mask with dtype ",
           c_type_word(mask.dtype()));
}

Tensor triangle(const char* name, const char* node_name, const Tensor& input, int64_t diagonal,
                bool upper) {
  DT_CHECK(input.ndim() >= 2, kRuntimeError, name,
           ": input tensor must have at least 2 dimensions");
  diagonal =
      std::clamp(diagonal, -input.size(-2), input.size(-1));  // further out is all or nothing
  const Tensor y = make_empty(input.sizes(), input.dtype(), input.device());
  TriangleCall call;
  call.y = y;
  call.x = input;
  call.diagonal = diagonal;
  call.upper = upper;
  run(op::triangle, call);
  return record(node_name, y, {input}, [diagonal, upper](BackwardCall& b) {
    b.results[0] = upper ? triu(b.grad(), diagonal) : tril(b.grad(), diagonal);
  });
}

// Zeros are all that is written: into an expanded tensor too, wherever an element lies outside.
const Tensor& write_triangle(Tensor (*triangle)(const Tensor&, int64_t), const Tensor& self,
                             int64_t diagonal) {
  if (!repeats_memory(self) || needs_graph(self)) return overwrite(self, triangle(self, diagonal));
  Dims repeated;
  for (int d = 0; d < self.ndim(); ++d) {
    if (self.strides()[d] == 0) repeated.push_back(d);
  }
  const Tensor inside = triangle(ones(self.sizes(), kMaskDType, self.device()), diagonal);
  masked_fill_(each_place(self), logical_not(all(inside, IntList(repeated), true)), 0);
  return self;
}

}  // namespace

Tensor masked_fill(const Tensor& input, const Tensor& mask, const Operand& value) {
  check_mask(mask);
  return fill_where(contiguous(input), mask, fill_value(input, value));
}

const Tensor& masked_fill_(const Tensor& input, const Tensor& mask, const Operand& value) {
  check_mask(mask);
  return fill_where_(input, mask, fill_value(input, value));
}

Tensor masked_select(const Tensor& input, const Tensor& mask) {
  DT_CHECK(is_bool(mask.dtype()), kRuntimeError, "masked_select: expected BoolTensor for mask");
  Dims sizes = broadcast_sizes(mask.sizes(), input.sizes());
  if (sizes.empty()) sizes.push_back(1);  // choosing from a number gives a list as well
  return index(expand(input, sizes), {expand(mask, sizes)});
}

Tensor nonzero(const Tensor& input) {
  const Tensor count = make_empty({}, kIndexDType, input.device());
  NonzeroCountCall counting;
  counting.count = count;
  counting.x = input;
  run(op::nonzero_count, counting);
  const Tensor y = make_empty({item(count).to_int64(), input.ndim()}, kIndexDType, input.device());
  NonzeroCall call;
  call.y = y;
  call.x = input;
  run(op::nonzero, call);
  return y;
}

Tensor tril(const Tensor& input, int64_t diagonal) {
  return triangle("tril", "TrilBackward0", input, diagonal, false);
}

Tensor triu(const Tensor& input, int64_t diagonal) {
  return triangle("triu", "TriuBackward0", input, diagonal, true);
}

const Tensor& tril_(const Tensor& input, int64_t diagonal) {
  return write_triangle(tril, input, diagonal);
}

const Tensor& triu_(const Tensor& input, int64_t diagonal) {
  return write_triangle(triu, input, diagonal);
}

}  // namespace dt
