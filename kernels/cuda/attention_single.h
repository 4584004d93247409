// Attention of a single query to each head's keys, as when a text goes on token by token.
#pragma once

#include "kernels/calls/attention.gen.h"

namespace dt::cuda {

// Whether there is one query, rows of keys and values are made of whole packets, and no weight is
// dropped.
bool is_single_query(const calls::Attention& call);

int32_t attention_single(const dt_stream* stream, const calls::Attention& call);
int64_t attention_single_workspace(const dt_stream* stream, const calls::Attention& call);

constexpr int kMostSingleFeatures = 128;  // of a query

// The same of a chain of kernels, whose next one merges what the parts of each head's keys give,
// the Shares of attention_shares.cuh.
struct SingleQuery {
  dt_view query, key, value, mask;  // [1, heads, 1 or keys, features], [1, 1, 1, keys]
};
int single_query_parts(const dt_stream* stream, const dt_view& keys);
int32_t attend_in_parts(const dt_stream* stream, const SingleQuery& of, double scale, int parts,
                        float* shares);

}  // namespace dt::cuda
