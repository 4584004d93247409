// Pooling of images, by the kernels; other pooling is made of it.
#pragma once

#include <tuple>

#include "core/ops/conv/window.h"
#include "core/tensor/tensor.h"

namespace dt {

struct Pooling {
  Window window;
  bool ceil_mode = false;
  bool count_include_pad = true;  // of means, as the next
  int64_t divisor = 0;            // 0: the size of the window
  // Whether the gradient is part of the graph, as PyTorch's is: one step of several leaves it out.
  bool links_gradient = true;

  Dims output_sizes(const Dims& x) const {
    return {x[0], x[1], window.output_size(0, x[2], ceil_mode),
            window.output_size(1, x[3], ceil_mode)};
  }
};

// Of x [N,C,H,W] and windows that fit: the maxima, and where they are in x's planes.
std::tuple<Tensor, Tensor> max_pool_images(const Tensor& x, const Pooling& p);
Tensor avg_pool_images(const Tensor& x, const Pooling& p);

}  // namespace dt
