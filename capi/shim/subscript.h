// x[index] and x[index] = value for languages without Python's brackets: the index is text.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace dt::capi {

// The items of an index stand between commas, one for each dimension from the first on: a place
// (2, -1), a slice (1:3, ::2), "..." for the dimensions in between, "None" for a new one, "?" for
// the next of the tensors, which hold places or truth values.
Tensor at(const Tensor& input, const std::string& index, TensorList tensors);
const Tensor& set_at(const Tensor& input, const std::string& index, const Operand& value,
                     TensorList tensors);

}  // namespace dt::capi
