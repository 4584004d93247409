// The gradient of what a grid samples (grid_sample_input.cu).
#pragma once

#include "kernels/calls/vision.gen.h"

namespace dt::cuda {

// Declines, with nothing done, what 32 bits do not count.
int32_t input_gradient(const dt_stream* stream, const calls::GridSampleBackward& call);
int64_t input_gradient_bytes(const dt_stream* stream, const calls::GridSampleBackward& call);

}  // namespace dt::cuda
