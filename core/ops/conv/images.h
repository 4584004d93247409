// Convolution of images, by the kernels; other convolutions are made of it.
#pragma once

#include "core/ops/conv/window.h"
#include "core/tensor/tensor.h"

namespace dt {

struct ConvGeometry {
  Window window;
  int64_t groups;
};

// x [N,C,H,W] with weight [O,C/groups,R,S], which fit, of any dtype.
Tensor convolve_images(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const ConvGeometry& c);

// The transpose of that in x: from x [N,O,P,Q], floating, to an image of `sizes`.
Tensor spread_images(const Tensor& x, const Tensor& weight, const Dims& sizes,
                     const ConvGeometry& c);

}  // namespace dt
