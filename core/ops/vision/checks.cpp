#include "core/ops/vision/checks.h"

#include <cmath>

#include "core/ops/checks.h"

namespace dt {

void check_interpolate(const Tensor& input) {
  const int n = input.ndim();
  DT_CHECK(n >= 3 && n <= 5, kNotImplemented,
           "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", n,
           "D) for the modes: nearest | nearest-exact");
  DT_CHECK(input.size(1) > 0, kRuntimeError, "Non-empty ", n,
           "D data tensor expected but got a tensor with sizes ", input.sizes());
  DT_CHECK(is_floating(input.dtype()) || input.dtype() == kByteDType, kNotImplemented,
           "\"upsample_nearest", n - 2, "d\" not implemented for '", type_word(input.dtype()), "'");
}

namespace {

// One number stands for all spatial dimensions.
void check_spatial_count(const Tensor& x, int64_t given, const char* what) {
  const int spatial = x.ndim() - 2;
  DT_CHECK(given == 1 || given == spatial, kValueError, "Input and ", what,
           " must have the same number of spatial dimensions, but got input with spatial "
           "dimensions of ",
           IntList(x.sizes().begin() + 2, spatial), " and ", given, " numbers");
}

}  // namespace

void check_resize_counts(const Tensor& x, std::optional<int64_t> sizes,
                         std::optional<int64_t> factors) {
  DT_CHECK(sizes || factors, kValueError, "either size or scale_factor should be defined");
  DT_CHECK(!sizes || !factors, kValueError, "only one of size or scale_factor should be defined");
  if (sizes) check_spatial_count(x, *sizes, "output");
  if (factors) check_spatial_count(x, *factors, "scale_factor");
}

void check_scaled_size(double size) {
  DT_CHECK(std::abs(size) < 9e18, kRuntimeError,
           "value cannot be converted to type int64_t without overflow");
}

void check_resize(int64_t from, int64_t to, int dim) {
  DT_CHECK(from > 0 && to > 0, kRuntimeError,
           "Input and output sizes should be greater than 0, but got input ", from, " and output ",
           to, " at dimension ", dim);
}

}  // namespace dt
