// Copies, conversions, shapes and sums that other ops are made of.
#pragma once

#include "core/ops/enums.h"

namespace dt {

// x in another dtype; x itself if it has it already. Differentiable.
Tensor to_dtype(const Tensor& x, DType dtype);
// A copy with these strides. Differentiable.
Tensor clone_strided(const Tensor& x, const Dims& strides);
// The same elements as a node of their own in the graph: gradients can be taken with respect to it.
Tensor alias(const Tensor& x);
// x again; its gradient gets x's memory order, whatever comes after has made of it.
Tensor keep_order(const Tensor& x);
// What nobody else holds, in another shape: the same memory, but no view. An op that computes its
// result in a shape of its own ends with it.
Tensor unsafe_view(const Tensor& fresh, const Dims& sizes);
// y = x without a record; both have the same sizes.
// Between devices, returns when the elements have arrived, unless non_blocking.
void copy_elements(const Tensor& y, const Tensor& x, bool non_blocking = false);
// x, or its copy on the CPU: what host code may read. Not recorded.
Tensor on_host(const Tensor& x);
// The strides that `format` gives to a tensor like x.
Dims format_strides(const Tensor& x, MemoryFormat format);
// The gradient of index_select: a tensor of `sizes` whose slices are sums of the source's slices,
// each added where the int64 `positions` say. Differentiable.
Tensor index_sum(const Dims& sizes, int dim, const Tensor& positions, const Tensor& source);
// The one element of x.
Scalar item(const Tensor& x);

}  // namespace dt
