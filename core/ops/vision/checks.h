// What resizing images refuses, in PyTorch's words and order.
#pragma once

#include <optional>

#include "core/tensor/tensor.h"

namespace dt {

void check_interpolate(const Tensor& input);
// How many numbers are given: none is nullopt, and one stands for all spatial dimensions.
void check_resize_counts(const Tensor& x, std::optional<int64_t> sizes,
                         std::optional<int64_t> factors);
void check_scaled_size(double size);
void check_resize(int64_t from, int64_t to, int dim);

}  // namespace dt
