// Joins of tensors that get the dimensions they need, and what meshgrid serves: hstack, vstack,
// dstack, column_stack, cartesian_prod, combinations.
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

std::vector<Tensor> each(TensorList tensors, Tensor (*f)(const Tensor&)) {
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(f(x));
  return out;
}

Tensor as_column(const Tensor& x) {
  return x.ndim() < 2 ? reshape(x, {x.numel(), 1}) : x;
}

}  // namespace

Tensor hstack(TensorList tensors) {
  check_stack_list("hstack", tensors);
  const std::vector<Tensor> parts = each(tensors, atleast_1d);
  return cat(parts, parts[0].ndim() == 1 ? 0 : 1);
}

Tensor vstack(TensorList tensors) {
  check_stack_list("vstack", tensors);
  return cat(each(tensors, atleast_2d), 0);
}

Tensor dstack(TensorList tensors) {
  check_stack_list("dstack", tensors);
  return cat(each(tensors, atleast_3d), 2);
}

Tensor column_stack(TensorList tensors) {
  check_stack_list("column_stack", tensors);
  return hstack(each(tensors, as_column));
}

Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& x : tensors) check_vector(x);
  if (tensors.size() == 1) return tensors[0];
  return stack(each(meshgrid(tensors), ravel), 1);
}

Tensor combinations(const Tensor& input, int64_t r, bool with_replacement) {
  check_combinations(input, r);
  if (r == 0) return empty({0}, input.dtype(), input.device());
  const auto count = static_cast<size_t>(r);
  const Tensor places = arange(0, input.numel(), 1, kIndexDType, input.device());
  const std::vector<Tensor> at = meshgrid(std::vector<Tensor>(count, places));
  // A choice is in order where its positions rise.
  Tensor rises = ones(at[0].sizes(), kMaskDType, input.device());
  for (size_t i = 1; i < count; ++i)
    rises = logical_and(rises, with_replacement ? le(at[i - 1], at[i]) : lt(at[i - 1], at[i]));
  std::vector<Tensor> columns;
  for (const Tensor& x : meshgrid(std::vector<Tensor>(count, input)))
    columns.push_back(masked_select(x, rises));
  return stack(columns, 1);
}

}  // namespace dt
