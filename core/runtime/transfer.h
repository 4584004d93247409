// Copies of elements as they are: nothing is recorded.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// y = x, converted to y's dtype; both have the same sizes. Between devices, returns when the
// elements have arrived, unless non_blocking.
void copy_elements(const Tensor& y, const Tensor& x, bool non_blocking = false);
// x, or its copy on the CPU: what host code may read.
Tensor on_host(const Tensor& x);
// The one element of x.
Scalar item(const Tensor& x);

}  // namespace dt
