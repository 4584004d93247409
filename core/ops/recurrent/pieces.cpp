#include "core/ops/recurrent/pieces.h"

#include "core/autograd/record.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// The gradients side by side; what has none is zero.
Tensor joined(const BackwardCall& call, int dim) {
  std::vector<Tensor> parts;
  for (int i = 0; i < call.node->outputs.size(); ++i) {
    const OutputInfo& y = call.node->outputs[i];
    parts.push_back(call.grads[i].defined() ? call.grads[i] : zeros(y.sizes, y.dtype, y.device));
  }
  return cat(parts, dim);
}

}  // namespace

std::vector<Tensor> pieces(const Tensor& x, IntList sizes, int dim) {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t n : sizes) {
    Dims of_part = x.sizes();
    of_part[dim] = n;
    parts.push_back(make_alias(x, of_part, x.strides(), x.offset() + start * x.strides()[dim]));
    start += n;
  }
  record_all("SplitWithSizesBackward0", parts, {x},
             [dim](BackwardCall& call) { call.results[0] = joined(call, dim); });
  return parts;
}

}  // namespace dt
