// What pooling refuses, in PyTorch's words and order.
#pragma once

#include <optional>

#include "core/ops/conv/window.h"
#include "core/tensor/tensor.h"

namespace dt {

void check_pool_rank(const Tensor& input);
void check_pool_divisor(std::optional<int64_t> divisor);
void check_pool_window(const Window& window);
// Of an image that has a batch; `sizes` are those of the result.
void check_max_pool(const Tensor& x, const Dims& sizes);
void check_avg_pool(const Tensor& x, const Dims& sizes);

}  // namespace dt
