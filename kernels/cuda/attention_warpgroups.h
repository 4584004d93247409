// Attention of elements of two bytes on Hopper, whose products and copies go on while threads do
// something else.
#pragma once

#include "kernels/calls/attention.gen.h"

namespace dt::cuda {

// DT_KERNEL_UNSUPPORTED where another kernel is to do it: on other devices, for rows that the copy
// engine does not take, and for so few rows that most of a block would have none.
int32_t attention_by_warpgroups(const dt_stream* stream, const calls::Attention& call);
int32_t attention_backward_by_warpgroups(const dt_stream* stream,
                                         const calls::AttentionBackward& call);
int64_t attention_backward_by_warpgroups_workspace(const dt_stream* stream,
                                                   const calls::AttentionBackward& call);

}  // namespace dt::cuda
