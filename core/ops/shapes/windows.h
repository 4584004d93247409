// Windows that overlap, added up: what the gradients of unfolding and of frames have in common.
#pragma once

#include "core/ops/conv/window.h"

namespace dt {

// How windows slide along two dimensions.
struct Slides {
  IntPair stride{1, 1}, padding{0, 0}, dilation{1, 1};
};

// [a, b, h, w, c], contiguous, of x [a, b, height of a window, its width, rows of windows, columns
// of windows, c]: each element has the sum of what the windows that it is part of have for it.
// Without a graph.
Tensor sum_windows(const Tensor& x, const Dims& sizes, const Slides& slides);

}  // namespace dt
