// A volume [N, C, D, H, W] as frames, images [N * D, C, H, W], and the frames that windows of a
// convolution touch as one.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

// The depth of a window, whose taps are the frames that it touches.
struct Depth {
  int64_t taps, stride, padding, dilation;

  int64_t windows(int64_t frames) const {
    return (frames + 2 * padding - dilation * (taps - 1) - 1) / stride + 1;
  }
};

Tensor frames_of(const Tensor& volume);
// A new volume of so many frames each.
Tensor volume_of(const Tensor& frames, int64_t batch, int64_t depth);

// [N * windows, C * taps, H, W]: for each window the frames that it touches.
Tensor join_frames(const Tensor& volume, const Depth& depth);
// The transpose of that: to a volume of `sizes`, where frames of several windows add up.
Tensor spread_frames(const Tensor& joined, const Depth& depth, const Dims& sizes);

}  // namespace dt
