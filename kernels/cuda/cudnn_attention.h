// Attention by cuDNN 9, for narrow floats.
#pragma once

#include <functional>

#include "kernels/calls/attention.gen.h"

namespace dt::cuda {

// Whether the library is there and the call is one that it may know: no mask but the causal one,
// no dropout, and rows of whole packets.
bool cudnn_can(const calls::Attention& call);
bool cudnn_can(const calls::AttentionBackward& call);

// Bytes of scratch memory for what follows, where the own kernel of gradients wants `own`.
int64_t cudnn_attention_workspace(const dt_stream* stream, const calls::Attention& call);
int64_t cudnn_attention_workspace(const dt_stream* stream, const calls::AttentionBackward& call,
                                  int64_t own);

// Does the call, or lets `own` do it where that was faster: the first call of a shape times the
// library's engines and the own kernel, unless the stream is being captured.
int32_t cudnn_attention(const dt_stream* stream, const calls::Attention& call,
                        const std::function<int32_t()>& own);
int32_t cudnn_attention(const dt_stream* stream, const calls::AttentionBackward& call,
                        const std::function<int32_t()>& own);

}  // namespace dt::cuda
