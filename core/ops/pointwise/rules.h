// What an elementwise row takes, and what it computes in.
#pragma once

#include "core/ops/pointwise.h"

namespace dt {

// The dtype that the operands meet in. Throws the row's sentence if it refuses them or its
// attributes.
DType common_dtype(const PointwiseRow& row, Span<const OperandRef> inputs,
                   PointwiseAttributes attributes);

// Whether operand number i is used with all its digits, also where `common` has 16 bits, to which
// operands are rounded first otherwise. As on PyTorch's CPU, so it is with numbers and with a
// second factor or divisor of one element, but not with a term: that is an operand whose gradient
// is the one that arrives.
bool keeps_digits(const PointwiseRow& row, const Operand& x, int i, DType common);

// Kernels calculate narrow dtypes in wider ones, where a number or a tensor of another dtype would
// stay whole: in uint8, -1 must be 255 before it is compared or divided by, and in float16, 0.1
// must be rounded before it is compared. Fills `out` with the operands, from number `first` on
// narrow; tells whether one had to be changed.
bool narrow_operands(const PointwiseRow& row, Span<const OperandRef> inputs, DType common,
                     int first, Operand* out);

// Whether the row's operands are truth values. They are promoted to one dtype before they are
// compared with 0.
bool is_logic(const PointwiseRow& row);
// The truth values of logic are those of the dtype in which the operands meet, where a 0-d tensor
// may wrap around, or be rounded, to 0. Fills `out`; tells whether an operand had to be changed.
bool meet_in_logic(const PointwiseRow& row, Span<const OperandRef> inputs, Operand* out);

// What the operands broadcast to, and where the result lies.
Dims common_sizes(Span<const OperandRef> inputs);
Device common_device(Span<const OperandRef> inputs);

// The tensor that an in-place op writes takes results of these sizes and this dtype.
void check_written(const Tensor& self, const Dims& sizes, DType dtype);

// Operands may be the written tensor, but not a part of it.
void check_operand_overlap(const Tensor& self, Span<const OperandRef> inputs);

}  // namespace dt
