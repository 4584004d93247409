// Pooling of volumes [N, C, D, H, W] in two steps: of the frames, then along the depth.
#pragma once

#include "core/ops/pool/images.h"

namespace dt {

std::tuple<Tensor, Tensor> max_pool_volumes(const Tensor& x, const Pooling& frames,
                                            const Pooling& depth);
Tensor avg_pool_volumes(const Tensor& x, const Pooling& frames, const Pooling& depth);

}  // namespace dt
