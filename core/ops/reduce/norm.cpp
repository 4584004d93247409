// torch.norm.
#include <cmath>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/checks.h"
#include "core/ops/reduce/reduced_dims.h"

namespace dt {
namespace {

// d|x|_p/dx * g for p != 0, with PyTorch's subgradients: 0 where the norm is 0; ties of an infinite
// norm share.
Tensor norm_gradient(const Tensor& x, const Tensor& y, const Tensor& g, double p,
                     const Dims& dims) {
  if (p == 1) return mul(sign(x), g);
  const Tensor zero = eq(y, 0);
  if (p == 2) return mul(g, masked_fill(div(x, y), zero, 0));
  // In units of the norm, whose powers fit where others do not. NaN makes NaN of zeros, too.
  if (!(p <= 2) && !std::isinf(p)) {
    const Tensor unit = masked_fill(y.detach(), logical_or(zero, isinf(y)), 1);
    const Tensor share = div(x, unit);
    const Tensor scale = masked_fill(div(g, pow(div(y, unit), p - 1)), zero, 0);
    return mul(mul(share, pow(abs(share), p - 2)), scale);
  }
  const Tensor magnitude = abs(x);
  if (std::isinf(p)) {
    const Tensor hit = logical_or(eq(magnitude, y), isnan(magnitude));
    return mul(sign(x), mul(div(g, sum(hit, IntList(dims), true)), hit));
  }
  const Tensor scaled = masked_fill(mul(sign(x), pow(magnitude, p - 1)), eq(x, 0), 0);
  if (p < 1) return mul(mul(scaled, g), pow(y, 1 - p));
  return mul(scaled, masked_fill(div(g, pow(y, p - 1)), zero, 0));
}

}  // namespace

Tensor norm(const Tensor& input, const Scalar& p, std::optional<IntList> dim, bool keepdim,
            DType dtype) {
  const DType given = input.dtype(), wanted = dtype == DType::kDefault ? given : dtype;
  check_norm_dtypes(given, wanted, "linalg.vector_norm");
  const Tensor x = to_dtype(input, wanted);
  const ReducedDims reduced(x, dim, keepdim);
  const double order = p.to_double();
  if (order < 0 || std::isinf(order)) check_norm_has_elements(x, order, dim);
  const Tensor y = make_empty(reduced.result_sizes, x.dtype(), x.device());
  NormCall call;
  call.y = kept_view(y, reduced);
  call.x = x;
  const bool power = order != 0 && reduced.count == 1;  // and root of one number: it as it is
  call.p = power ? 1 : order;
  run(op::norm, call);
  if (!needs_graph(x)) return y;
  return record("LinalgVectorNormBackward0", y, {x},
                [x = Saved::input(x), y = Saved::output(y), order, kept = reduced.kept_sizes,
                 dims = Dims(dim.value_or(IntList()))](BackwardCall& b) {
                  if (order == 0) return;  // a count depends on no element
                  const Tensor input = x.get(b.node);
                  b.results[0] = norm_gradient(input, spread(y.get(b.node), kept, input.sizes()),
                                               spread(b.grad(), kept, input.sizes()), order, dims);
                });
}

}  // namespace dt
