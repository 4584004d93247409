// What random tensors refuse, in PyTorch's words and order.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

void check_integers(DType dtype, int64_t low, int64_t high);
void check_randperm_dtype(DType dtype);
void check_randperm_length(int64_t n, DType dtype);
void check_probabilities(const Tensor& input);
void check_probability(double p);
void check_uniform(DType dtype, double low, double high);
void check_normal(double std);

}  // namespace dt
