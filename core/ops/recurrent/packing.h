// What packed sequences say of themselves.
#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

// The numbers of a tensor, which is read on the host.
std::vector<int64_t> ints_of(const Tensor& x);

}  // namespace dt
