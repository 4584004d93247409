// scatter where no two positions meet.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// A tensor of these sizes with src's elements at int64 positions along `dim`, no two of which are
// the same element, and zeros elsewhere. Not recorded.
Tensor put_apart(const Dims& sizes, int dim, const Tensor& index, const Tensor& src);

}  // namespace dt
