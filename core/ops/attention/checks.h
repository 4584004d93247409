// What attention refuses, in PyTorch's words.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& mask, bool is_causal);
// What only attention with keys is asked for: the softmax's dtype, the dropout's probability.
void check_weights(const Tensor& query, double dropout_p);
// With enable_gqa the number of the queries' heads is a multiple of the keys' and the values'.
void check_grouped_heads(const Tensor& query, const Tensor& key, const Tensor& value);

// ---- multi_head_attention_forward

// The inputs as they are given, with or without a batch.
void check_head_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                       const Tensor& padding_mask, const Tensor& mask, int64_t num_heads);
void check_head_sizes(const Tensor& query, const Tensor& key, const Tensor& value,
                      int64_t embed_dim, int64_t num_heads, bool separate);
struct HeadWeights {
  const Tensor &in, &bias_k, &bias_v, &q, &k, &v, &out;
};
// Whether the weights that are needed are there: one for all inputs, or, `separate`, one for each.
void check_head_weights(const HeadWeights& w, bool separate);
// A mask that is added to the scores of [batch * heads, queries, keys].
void check_head_mask(const Tensor& mask, const Dims& scores);
// key_padding_mask, when further keys have been added: [batch, keys].
void check_padding_mask(const Tensor& mask, int64_t batch, int64_t keys);
// is_causal is a hint about the mask that is given: without a mask it is refused.
void check_causal_hint(const Tensor& mask, bool is_causal);
void check_mask_dtype(const Tensor& mask, const char* name);
void check_bias_apart(const Tensor& bias_k, const Tensor& static_k, const Tensor& static_v);
void check_static(const Tensor& x, const char* name, int64_t heads, int64_t features);

}  // namespace dt
