// What the files of losses share.
#pragma once

#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt {

Tensor reduce_losses(const Tensor& losses, Reduction reduction);

// What the mean of losses of classes divides by: how many targets count, or the sum of their
// weights.
Tensor class_normaliser(const Tensor& target, const Tensor& weight, int64_t ignore_index);

}  // namespace dt
