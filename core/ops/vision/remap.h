// Elements that come from elsewhere along the last dimensions, three at most: padding, and resizing
// by repetition.
#pragma once

#include <array>

#include "core/tensor/tensor.h"
#include "kernels/remap_mode.h"

namespace dt {

struct Remapping {
  static constexpr int kDims = 3;      // that may change, the last ones
  static constexpr int kMostDims = 5;  // of x

  const char* node;  // of the graph
  RemapMode mode;
  Dims from, to;                           // sizes of x and y
  std::array<int64_t, kDims> before = {};  // elements before those of x
  std::array<double, kDims> step = {1, 1, 1};
  double offset = 0;
  bool links_gradient = true;  // whether the gradient is part of the graph, as PyTorch's is
  bool channels_last = false;  // y
};

Tensor remap(const Tensor& x, const Remapping& r);

}  // namespace dt
