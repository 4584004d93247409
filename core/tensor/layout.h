// Strides: how shapes walk through memory.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// Strides with which a tensor of `sizes` and `strides` walks the larger shape `over` (0 where it is
// broadcast).
Dims broadcast_strides(IntList sizes, IntList strides, IntList over);

// Whether the elements of a tensor of `sizes` lie in the same places with both strides.
bool same_walk(const Dims& sizes, const Dims& a, const Dims& b);

// Puts the dimensions into the order in which operands with these strides walk memory, from the
// slowest to the fastest. This is PyTorch's insertion sort: it begins with the last dimension and
// looks past those that nothing tells apart, which is not the same in another order. Empty strides
// say nothing.
void memory_order(const Dims* strides, int operands, const Dims& sizes, int* order);

// Whether its strides are those of a new tensor, also in dimensions of size 1: beside an operand
// that is larger there, these have a say in the order of dimensions.
bool is_row_major(const Tensor& x);

// The strides that PyTorch gives to the result of an elementwise op: dense, with the inputs' order
// of dimensions.
Dims elementwise_strides(const Dims& sizes, TensorList inputs);
// Those of a copy of x: x's own, or where it has gaps dense ones in the same order of dimensions.
Dims dense_strides(const Tensor& x);

// What two tensors have in common. Memory with holes is not looked into.
enum class Overlap { kNone, kSome, kSame, kUnknown };
Overlap overlap_of(const Tensor& a, const Tensor& b);

}  // namespace dt
