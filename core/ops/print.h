// Tensors as text, as PyTorch prints them.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace dt {

std::string to_string(const Tensor& x);

}  // namespace dt
