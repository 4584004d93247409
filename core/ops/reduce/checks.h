// What reductions refuse, in PyTorch's words and order.
#pragma once

#include "core/ops/reduce/reduced_dims.h"

namespace dt {

void check_accumulate_dtype(const Tensor& x, DType wish);
void check_mean_dtype(DType dtype);
void check_cumsum(const Tensor& x);

// Of nothing there is no extremum.
void check_has_extremum(const Tensor& x, Code code);
void check_extremum_dim(const Tensor& x, int dim);
void check_extremum(const Tensor& x, const ReducedDims& reduced, bool all);
void check_arg_extremum(const Tensor& input);

void check_deviation_dtype(const Tensor& x);
void check_norm_dtypes(DType given, DType wanted);
// Of nothing there is a norm only where a sum is.
void check_norm_has_elements(const Tensor& x, double order, std::optional<IntList> dim);

void check_isclose(const Tensor& input, const Tensor& other, double rtol, double atol);

}  // namespace dt
