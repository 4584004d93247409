// Strides: how shapes walk through memory.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// Strides with which a tensor of `sizes` and `strides` walks the larger shape `over` (0 where it is
// broadcast).
Dims broadcast_strides(IntList sizes, IntList strides, IntList over);

// Puts the dimensions into the order in which operands with these strides walk memory, from the
// slowest to the fastest. Dimensions that nothing tells apart keep their order; empty strides say
// nothing.
void memory_order(const Dims* strides, int operands, const Dims& sizes, int* order);

// The strides that PyTorch gives to the result of an elementwise op: dense, with the inputs' order
// of dimensions.
Dims elementwise_strides(const Dims& sizes, TensorList inputs);
// Those of a copy of x: x's own, or where it has gaps dense ones in the same order of dimensions.
Dims dense_strides(const Tensor& x);

}  // namespace dt
