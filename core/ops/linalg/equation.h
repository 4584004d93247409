// What einsum's equation says.
#pragma once

#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

// The label of each dimension of each operand and of the result. A letter is its character; a
// dimension of an ellipsis is -1, -2, ..., counted from the last.
struct Equation {
  std::vector<Dims> inputs;
  Dims output;
};

// Refuses, in PyTorch's words, what cannot be read and operands that do not fit.
Equation read_equation(const std::string& equation, TensorList operands);

}  // namespace dt
