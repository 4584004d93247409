// Attention of a single query to each head's keys, as when a text goes on token by token.
#pragma once

#include "kernels/calls/attention.gen.h"

namespace dt::cuda {

// Whether there is one query, and rows of keys and values are made of whole packets.
bool is_single_query(const calls::Attention& call);

int32_t attention_single(const dt_stream* stream, const calls::Attention& call);
int64_t attention_single_workspace(const dt_stream* stream, const calls::Attention& call);

}  // namespace dt::cuda
