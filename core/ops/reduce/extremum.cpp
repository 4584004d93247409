// The largest and smallest elements, and where they are.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/choice.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/checks.h"
#include "core/ops/reduce/reduced_dims.h"

namespace dt {
namespace {

// The largest or smallest elements, without a record.
Tensor extremum_values(Op<ReductionCall> op, const Tensor& x, const ReducedDims& reduced,
                       bool all) {
  check_extremum(x, reduced, all);
  return run_reduction(op, x, reduced, x.dtype(), x.dtype());
}

// max and min of all elements: what equals the extremum shares the gradient.
Tensor extremum_of_all(Op<ReductionCall> op, const char* node, const Tensor& x) {
  const Tensor y = extremum_values(op, x, ReducedDims(x, {}, false), true);
  return record_shared(node, y, x);
}

// amax and amin: likewise, but a factor of 0 takes the gradient from the other elements.
Tensor extremum(Op<ReductionCall> op, const char* node, const Tensor& x, std::optional<IntList> dim,
                bool keepdim) {
  const bool all = !dim || dim->empty();
  const ReducedDims reduced(x, dim, keepdim);
  const Tensor y = extremum_values(op, x, reduced, all);
  if (!needs_graph(x)) return y;
  return record(node, y, {x},
                [x = Saved::input(x), y = Saved::output(y), kept = reduced.kept_sizes,
                 dims = Dims(dim.value_or(IntList()))](BackwardCall& b) {
                  const Tensor input = x.get(b.node);
                  const Tensor best = spread(y.get(b.node), kept, input.sizes());
                  const Tensor hit = to_dtype(eq(input, best), input.dtype());
                  const Tensor share = div(hit, sum(hit, IntList(dims), true));
                  b.results[0] = mul(share, spread(b.grad(), kept, input.sizes()));
                });
}

std::tuple<Tensor, Tensor> extremum_along(Op<ReductionAlongCall> op, const char* node,
                                          const Tensor& x, int64_t dim, bool keepdim) {
  const int d = wrap_dim(dim, x.ndim());
  if (x.ndim() == 0) {
    const Tensor at = zeros({}, kIndexDType, x.device());
    return {clone(x), at};
  }
  const ReducedDims reduced(x, IntList{d}, keepdim);
  check_extremum_dim(x, d);
  const Tensor values = make_empty(reduced.result_sizes, x.dtype(), x.device());
  const Tensor indices = make_empty(reduced.result_sizes, kIndexDType, x.device());
  const Dims strides = contiguous_strides(reduced.kept_sizes);
  ReductionAlongCall call;
  call.values = View(values, reduced.kept_sizes, strides, 0);
  call.indices = View(indices, reduced.kept_sizes, strides, 0);
  call.x = x;
  call.compute = info(x.dtype()).compute;
  run(op, call);
  record_choice(node, values, indices, x, d, reduced.kept_sizes);
  return {values, indices};
}

Tensor extremum_index(Op<ReductionAlongCall> op, const Tensor& x, std::optional<int64_t> dim,
                      bool keepdim) {
  const GradMode no_grad(false);
  if (dim) {
    const int d = wrap_dim(*dim, x.ndim());
    if (x.ndim() == 0 || x.size(d) != 1)
      return std::get<1>(extremum_along(op, "", x, *dim, keepdim));
    // One element is the first, whatever it is: none is read.
    return zeros(ReducedDims(x, IntList{d}, keepdim).result_sizes, kIndexDType, x.device());
  }
  check_has_extremum(x, Code::kIndexError);
  const Tensor at = std::get<1>(extremum_along(op, "", reshape(x, {-1}), 0, false));
  return keepdim ? unsafe_view(at, Dims(x.ndim(), 1)) : at;
}

}  // namespace

Tensor max(const Tensor& input) {
  return extremum_of_all(op::amax, "MaxBackward1", input);
}
Tensor min(const Tensor& input) {
  return extremum_of_all(op::amin, "MinBackward1", input);
}
Tensor amax(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  return extremum(op::amax, "AmaxBackward0", input, dim, keepdim);
}
Tensor amin(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  return extremum(op::amin, "AminBackward0", input, dim, keepdim);
}
std::tuple<Tensor, Tensor> max_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return extremum_along(op::max_dim, "MaxBackward0", input, dim, keepdim);
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return extremum_along(op::min_dim, "MinBackward0", input, dim, keepdim);
}
Tensor argmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  check_arg_extremum(input);
  return extremum_index(op::max_dim, input, dim, keepdim);
}
Tensor argmin(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  check_arg_extremum(input);
  return extremum_index(op::min_dim, input, dim, keepdim);
}

}  // namespace dt
