// Convolutions by cuDNN 9.
#pragma once

#include "kernels/cuda/conv.h"

namespace dt::cuda {

// Whether the library is there and the convolution is one that it may know.
bool cudnn_can(const Convolution& c);
// Bytes of scratch memory for cudnn_convolve.
int64_t cudnn_workspace(const dt_stream* stream, const Convolution& c);
// Computes all but the bias. DT_KERNEL_UNSUPPORTED, with nothing computed, if no engine of the
// library can. The first convolution of a shape times the library's best engines, unless the stream
// is being captured.
int32_t cudnn_convolve(const dt_stream* stream, const Convolution& c, void* workspace);

}  // namespace dt::cuda
