// What reductions refuse, in PyTorch's words and order.
#pragma once

#include "core/ops/reduce/reduced_dims.h"

namespace dt {

void check_accumulate_dtype(const Tensor& x, DType wish);
void check_mean_dtype(DType input, DType wish);
void check_scan(const Tensor& x, const char* name);

// Of nothing there is no extremum.
void check_has_extremum(const Tensor& x, Code code);
void check_extremum_dim(const Tensor& x, int dim);
void check_extremum(const Tensor& x, const ReducedDims& reduced, bool all);
void check_arg_extremum(const Tensor& input);

void check_deviation_dtype(const Tensor& x);
void check_norm_dtypes(DType given, DType wanted, const char* function);
// Of nothing there is a norm only where a sum is.
void check_norm_has_elements(const Tensor& x, double order, std::optional<IntList> dim);

void check_nanmean(const Tensor& input, DType dtype);
void check_aminmax(const Tensor& input, std::optional<int64_t> dim);
// Of what has a variable for each row, and an observation for each column.
void check_variables(const Tensor& input, const char* function);
void check_frequencies(const Tensor& fweights, int64_t observations);
void check_weights(const Tensor& aweights, int64_t observations);
void check_total_weight(const Tensor& weights, const Tensor& total);

void check_diff(const Tensor& input, int64_t n, int64_t dim, const Tensor& prepend,
                const Tensor& append);
void check_spacing(const Tensor& x, const std::optional<Scalar>& dx, const char* function);
void check_integrand(const Tensor& y, const Tensor& x, const char* function);
void check_sample_points(const Tensor& x, int64_t samples, const char* function);
void check_gradient(const Tensor& input, std::optional<int64_t> spacings,
                    std::optional<IntList> dim, int64_t edge_order);
void check_coordinates(const Tensor& places, int64_t samples);

void check_isclose(const Tensor& input, const Tensor& other, double rtol, double atol);

}  // namespace dt
