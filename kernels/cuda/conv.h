// A two-dimensional convolution and its gradients, as the ways to compute them see it.
#pragma once

#include "kernels/dtype.h"

namespace dt::cuda {

// Four dimensions with any strides, in elements: images are [N, C, H, W], weights [O, C / groups,
// R, S].
struct Images {
  void* data;
  int64_t sizes[4], strides[4];
};

enum class Pass { kForward, kBackwardInput, kBackwardWeight };

// y = x * w. The pass says which of the three is computed; in the backward passes that one, and
// what replaces y, are gradients.
struct Convolution {
  Pass pass;
  int32_t dtype;
  Images x, w, y;
  int64_t stride[2], padding[2], dilation[2], groups;
  void* bias;  // forward: what is added to y; backward weight: the gradient of that; or null
  int64_t bias_stride;
};

// ---- few channels (conv_direct.cu, conv_direct_weight.cu): float, stride and dilation 1

bool direct_can(const Convolution& c);
int64_t direct_workspace(const dt_stream* stream, const Convolution& c);
// Computes everything, the bias and its gradient too.
int32_t direct_convolve(const dt_stream* stream, const Convolution& c, void* workspace);

// The pass kBackwardWeight of the three functions above.
int64_t direct_weight_workspace(const dt_stream* stream, const Convolution& c);
int32_t direct_weight(const dt_stream* stream, const Convolution& c, void* workspace);

// ---- the gradient of an input of two to four channels (conv_few_inputs.cu): float, stride 1 or 2

bool few_inputs_can(const Convolution& c);
int32_t few_inputs_convolve(const dt_stream* stream, const Convolution& c);

// ---- any convolution as a matrix product over indices (conv_gemm.cu); all but the gradient of the
// bias

int64_t gemm_workspace(const dt_stream* stream, const Convolution& c);
// Without workspace it is slower where outputs are few.
int32_t gemm_convolve(const dt_stream* stream, const Convolution& c, void* workspace);

// ---- what is around a convolution (conv_parts.cu)

// y += bias
int32_t add_bias(const dt_stream* stream, const Convolution& c);
// bias = the sum of y over all but the channels
int64_t bias_gradient_workspace(const dt_stream* stream, const Convolution& c);
int32_t bias_gradient(const dt_stream* stream, const Convolution& c, void* workspace);
// to = from, for images of the same sizes.
int32_t copy_images(const dt_stream* stream, int32_t dtype, const Images& to, const Images& from);

}  // namespace dt::cuda
