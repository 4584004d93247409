// What the files of losses share.
#pragma once

#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt {

Tensor reduce_losses(const Tensor& losses, Reduction reduction);

}  // namespace dt
