// The softmax of attention.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// Over the last dimension; 0, not NaN, in rows of -infinity: of a query that sees nothing.
Tensor softmax_of_scores(const Tensor& scores);

}  // namespace dt
