// What elementwise ops refuse beside their rows' rules (rules.h), in PyTorch's words and order.
#pragma once

#include <optional>

#include "core/tensor/tensor.h"

namespace dt {

// An op of numbers alone would have no device, and no dtype but the default.
void check_tensor_among(Span<const OperandRef> inputs);
// Integers have no infinity to divide to: a zero divisor is an error.
void check_divisor(const Tensor& input, const Operand& other);
void check_power(const Operand& input, const Operand& exponent);
void check_bounds(const std::optional<Operand>& min, const std::optional<Operand>& max);

void check_fill_mask(const Tensor& mask);
void check_fill_value(const Tensor& input, const Operand& value);

}  // namespace dt
