// What the recipes of views mean, and what their gradients are.
#include <algorithm>

#include "core/autograd/gradients.h"
#include "core/autograd/record.h"
#include "core/autograd/view.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/shapes/windows.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// Zeros of `sizes` with `part` at the place that `at` says; at(zeros) is that place as a view.
template <class At>
Tensor embed(const Tensor& part, const Dims& sizes, const Dims& strides, At at) {
  const Tensor whole = make_empty_strided(sizes, strides, part.dtype(), part.device());
  {
    const GradMode no_grad(false);
    zero_(whole);
    copy_(at(whole), part);
  }
  return record("EmbedBackward0", whole, {part},
                [at](BackwardCall& b) { b.results[0] = at(b.grad()); });
}

// Positions of a strided view's elements in its storage.
Tensor storage_positions(const Dims& sizes, const Dims& strides, int64_t start,
                         int64_t storage_size, Device device) {
  const GradMode no_grad(false);
  const Tensor all = arange(0, storage_size, 1, kIndexDType, device);
  return reshape(as_strided(all, sizes, strides, start), {-1});
}

int64_t storage_extent(const Dims& sizes, const Dims& strides, int64_t start) {
  int64_t last = start + 1;
  for (int d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
  return last;
}

// as_strided may look at an element several times and at elements that the input does not show; so
// its gradient goes through the storage: add up there, then read what the input shows (shared out
// where the input repeats elements).
Tensor unapply_as_strided(const ViewRecipe& r, const Tensor& grad, const Dims& input_sizes) {
  if (count_elements(input_sizes) == 0 || grad.numel() == 0)
    return zeros(input_sizes, grad.dtype(), grad.device());
  const int64_t n = std::max(storage_extent(r.dims, r.strides, r.start),
                             storage_extent(input_sizes, r.source_strides, r.source_start));
  const Tensor at = storage_positions(r.dims, r.strides, r.start, n, grad.device());
  const Tensor from =
      storage_positions(input_sizes, r.source_strides, r.source_start, n, grad.device());
  const Tensor storage = zeros({n}, grad.dtype(), grad.device());
  Tensor sums = index_select(index_add(storage, 0, at, reshape(grad, {-1})), 0, from);
  if (!is_dense(input_sizes, r.source_strides)) {
    const Tensor ones = full({from.numel()}, 1, grad.dtype(), grad.device());
    sums = div(sums, index_select(index_add(storage, 0, from, ones), 0, from));
  }
  return reshape(sums, input_sizes);
}

// Windows that share elements. They slide along the columns of what is added up, or, where elements
// lie together that are no part of the window, along the rows.
Tensor unapply_unfold(const ViewRecipe& r, const Tensor& grad, const Dims& sizes) {
  Tensor y;
  {
    const GradMode no_grad(false);
    const int64_t windows = grad.sizes()[r.dim], size = r.start, length = sizes[r.dim];
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < sizes.size(); ++d) (d < r.dim ? outer : inner) *= d == r.dim ? 1 : sizes[d];
    const Tensor parts = reshape(grad, {outer, windows, inner, size});
    const Dims& s = parts.strides();
    const auto sums = [&](const Dims& of_windows, const Dims& strides, const Dims& of_y) {
      return sum_windows(make_alias(parts, of_windows, strides, parts.offset()), of_y,
                         {{r.step, r.step}});
    };
    y = inner == 1 ? sums({outer, 1, 1, size, 1, windows, 1}, {s[0], 0, 0, s[3], 0, s[1], 0},
                          {outer, 1, 1, length, 1})
                   : sums({outer, 1, size, 1, windows, 1, inner}, {s[0], 0, s[3], 0, s[1], 0, s[2]},
                          {outer, 1, length, 1, inner});
    y = reshape(y, sizes);
  }
  return record("UnfoldBackwardBackward0", y, {grad},
                [r](BackwardCall& b) { b.results[0] = apply_recipe(r, b.grad()); });
}

}  // namespace

Tensor apply_recipe(const ViewRecipe& r, const Tensor& x) {
  switch (r.kind) {
    case ViewRecipe::kPermute:
      return permute(x, r.dims);
    case ViewRecipe::kReshape:
      return reshape(x, r.dims);
    case ViewRecipe::kSlice: {  // up to just behind the last element: a step may be huge
      const int64_t length = r.dims[0];
      const int64_t end = length ? r.start + (length - 1) * r.step + 1 : r.start;
      return slice(x, r.dim, r.start, end, r.step);
    }
    case ViewRecipe::kSelect:
      return select(x, r.dim, r.start);
    case ViewRecipe::kExpand:
      return expand(x, r.dims);
    case ViewRecipe::kDiagonal:
      return diagonal(x, r.start, r.dim, r.dim2);
    case ViewRecipe::kUnfold:
      return unfold(x, r.dim, r.start, r.step);
    case ViewRecipe::kAsStrided:
      return as_strided(x, r.dims, r.strides, r.start);
  }
  return x;
}

Tensor unapply_recipe(const ViewRecipe& r, const Tensor& grad, const Dims& sizes,
                      const Dims& strides) {
  switch (r.kind) {
    case ViewRecipe::kPermute: {
      Dims inverse(r.dims.size(), 0);
      for (int d = 0; d < r.dims.size(); ++d) inverse[static_cast<int>(r.dims[d])] = d;
      return permute(grad, inverse);
    }
    case ViewRecipe::kReshape:
      return reshape(grad, sizes);
    case ViewRecipe::kExpand:
      return sum_to(grad, sizes);
    case ViewRecipe::kAsStrided:
      return unapply_as_strided(r, grad, sizes);
    case ViewRecipe::kUnfold:
      if (r.step < r.start) return unapply_unfold(r, grad, sizes);
      [[fallthrough]];
    default:
      return embed(grad, sizes, strides,
                   [r](const Tensor& whole) { return apply_recipe(r, whole); });
  }
}

}  // namespace dt
