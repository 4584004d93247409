// Gradients of scans by a kernel, where a backend has one.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// By x, of y = cumprod(x) along a dimension; or, where y is undefined, of cummax or cummin, whose
// positions are x. Not recorded; undefined where there is no kernel.
Tensor scan_gradient(const Tensor& grad, const Tensor& x, const Tensor& y, int dim);

}  // namespace dt
