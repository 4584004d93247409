// What random tensors refuse, in PyTorch's words and order.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// The largest n such that the dtype holds all integers from 0 to n.
int64_t largest_integer(DType dtype);

void check_integers(DType dtype, int64_t low, int64_t high);
// Moves the bounds to numbers that the dtype holds. Floats have gaps between large integers: a
// number within other bounds might be rounded to one beyond them.
void round_bounds(DType dtype, int64_t& low, int64_t& high);
void check_randperm_dtype(DType dtype);
void check_randperm_length(int64_t n, DType dtype);
void check_probabilities(const Tensor& input);
void check_probability(double p);
void check_uniform(DType dtype, double low, double high);
void check_normal(double std);
void check_exponential(DType dtype, double lambd);
void check_geometric(DType dtype, double p);
void check_cauchy(DType dtype, double sigma);
void check_log_normal(DType dtype, double std);
void check_rates(const Tensor& input);
void check_binomial(const Tensor& count, const Tensor& prob);
void check_multinomial(const Tensor& input, int64_t num_samples, bool replacement);
// The weights of a choice without replacement.
void check_weights(const Tensor& input);
// Says what is wrong with weights that are no distribution.
[[noreturn]] void fail_weights(const Tensor& input, bool replacement);

}  // namespace dt
