// Copies, conversions, shapes and sums that other ops are made of.
#pragma once

#include "core/base/enums.h"
#include "core/runtime/transfer.h"

namespace dt {

// x in another dtype; x itself if it has it already. Differentiable.
Tensor to_dtype(const Tensor& x, DType dtype);
// x again; its gradient gets x's memory order, whatever comes after has made of it.
Tensor keep_order(const Tensor& x);
// x with a node whose gradient is constant in x: differentiating that gives zeros.
Tensor constant_slope(const Tensor& x);
// What nobody else holds, in another shape: the same memory, but no view. An op that computes its
// result in a shape of its own ends with it.
Tensor unsafe_view(const Tensor& fresh, const Dims& sizes);
// contiguous(x) with the strides of a new tensor, also in dimensions of size 1.
Tensor row_major(const Tensor& x);
// A view with every place of an expanded tensor's memory once.
Tensor each_place(Tensor x);
// The strides that `format` gives to a tensor like x.
Dims format_strides(const Tensor& x, MemoryFormat format);
// The gradient of index_select: a tensor of `sizes` whose slices are sums of the source's slices,
// each added where the int64 `positions` say. Differentiable.
Tensor index_sum(const Dims& sizes, int dim, const Tensor& positions, const Tensor& source);

}  // namespace dt
