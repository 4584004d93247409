// What attention refuses, in PyTorch's words.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& mask, bool is_causal);
// Of what has weights: a softmax, and perhaps its dropout.
void check_weights(const Tensor& query, double dropout_p);
// Of enable_gqa: heads of keys and values divide those of queries.
void check_grouped_heads(const Tensor& query, const Tensor& key, const Tensor& value);

// Of multi_head_attention_forward's inputs, as they are given.
void check_head_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                       const Tensor& padding_mask, const Tensor& mask, int64_t num_heads);
void check_head_sizes(const Tensor& query, const Tensor& key, const Tensor& value,
                      int64_t embed_dim, int64_t num_heads, bool separate);
struct HeadWeights {
  const Tensor &in, &bias_k, &bias_v, &q, &k, &v, &out;
};
// That those are there which are needed.
void check_head_weights(const HeadWeights& w, bool separate);
// A mask that is added to the scores of [batch * heads, queries, keys].
void check_head_mask(const Tensor& mask, const Dims& scores);
// The keys' mask, once they are all there.
void check_padding_mask(const Tensor& mask, int64_t batch, int64_t keys);
// A causal mask is given, although its name would do.
void check_causal_hint(const Tensor& mask, bool is_causal);
void check_mask_dtype(const Tensor& mask, const char* name);
void check_bias_apart(const Tensor& bias_k, const Tensor& static_k, const Tensor& static_v);
void check_static(const Tensor& x, const char* name, int64_t heads, int64_t features);

}  // namespace dt
