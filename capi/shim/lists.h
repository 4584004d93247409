// A tensor's elements as numbers and back, for languages that exchange lists.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor/tensor.h"

namespace dt::capi {

Tensor from_ints(IntList data, std::optional<IntList> size, DType dtype, Device device,
                 bool requires_grad);
// All elements, row-major.
std::vector<int64_t> to_ints(const Tensor& x);
std::vector<double> to_numbers(const Tensor& x);

}  // namespace dt::capi
