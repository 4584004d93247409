// What the files of losses share.
#pragma once

#include "core/ops/enums.h"

namespace dt {

Tensor reduce_losses(const Tensor& losses, Reduction reduction);

}  // namespace dt
