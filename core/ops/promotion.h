// In which dtype operands meet: PyTorch's type promotion.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// torch.result_type: dimensioned tensors, then 0-d tensors, then plain numbers, by category and
// width.
DType result_type(Span<const OperandRef> operands);

// An operand in the dtype that it meets others in: what is wider wraps around, as in C, or is
// rounded.
Operand narrowed(const Operand& x, DType common);

// Whether elements of `from` may be written into a tensor of `to`: a category never goes down.
bool can_cast(DType from, DType to);

}  // namespace dt
