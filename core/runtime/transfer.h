// Copies of elements as they are: nothing is recorded.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// y = x, converted to y's dtype; both have the same sizes. Between devices, returns when the
// elements have arrived, unless non_blocking.
void copy_elements(const Tensor& y, const Tensor& x, bool non_blocking = false);
// The same for every pair, all on one device, of which no y overlaps another pair's elements: by as
// few calls of a kernel as can be.
struct Copied {
  Tensor y, x;
};
void copy_each(Span<const Copied> pairs);
// x, or its copy on the CPU: what host code may read.
Tensor on_host(const Tensor& x);
// The one element of x.
Scalar item(const Tensor& x);

}  // namespace dt
