#include "core/ops/reduce/reduced_dims.h"

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/reduce/checks.h"
#include "core/ops/views.gen.h"

namespace dt {

ReducedDims::ReducedDims(const Tensor& x, std::optional<IntList> dim, bool keepdim)
    : kept_sizes(x.sizes()) {
  const bool all = !dim || dim->empty();
  for (int d = 0; d < x.ndim(); ++d) reduced[d] = all;
  if (!all) {
    for (int64_t i : *dim) {
      const int d = wrap_dim(i, x.ndim());
      check_named_once(reduced[d], d);
      reduced[d] = true;
    }
  }
  for (int d = 0; d < x.ndim(); ++d) {
    if (reduced[d]) {
      count *= x.sizes()[d];
      kept_sizes[d] = 1;
    }
    if (!reduced[d] || keepdim) result_sizes.push_back(kept_sizes[d]);
  }
}

DType accumulate_dtype(const Tensor& x, DType wish) {
  if (wish != DType::kDefault) {
    check_accumulate_dtype(x, wish);
    return wish;
  }
  return is_floating(x.dtype()) ? x.dtype() : kIntegerDType;
}

View kept_view(const Tensor& y, const ReducedDims& reduced) {
  return View(y, reduced.kept_sizes, contiguous_strides(reduced.kept_sizes), y.offset());
}

Tensor run_reduction(Op<ReductionCall> op, const Tensor& x, const ReducedDims& reduced, DType dtype,
                     DType compute) {
  const Tensor y = make_empty(reduced.result_sizes, dtype, x.device());
  ReductionCall call;
  call.y = kept_view(y, reduced);
  call.x = x;
  call.compute = info(compute).compute;
  run(op, call);
  return y;
}

Tensor spread(const Tensor& g, const Dims& kept_sizes, const Dims& sizes) {
  return expand(reshape(g, kept_sizes), sizes);
}

}  // namespace dt
