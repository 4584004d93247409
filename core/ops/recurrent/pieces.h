// split_with_sizes whose pieces are made by one node, which joins their gradients: where they are
// many, each by itself would have a gradient of the whole tensor's size.
#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

std::vector<Tensor> pieces(const Tensor& x, IntList sizes, int dim);

}  // namespace dt
