// A block of a language model as one function of its weights.
#pragma once

#include "core/ops/generation/kv_cache.h"
#include "core/tensor/tensor.h"

namespace dt {

// The state of a linear layer or a norm.
struct Affine {
  Tensor weight, bias;  // the bias may be absent
};

// x = input + out(attention(qkv(norm1(input)))), and x + down(gelu(up(norm2(x)))).
struct DecoderBlock {
  int64_t heads;
  Affine norm1, qkv, out, norm2, up, down;
  double eps;
};

// Tokens [batch, time, width] through a block whose keys and values the cache has, without
// gradients.
Tensor decoder_block(const Ref<KvCache>& cache, const Tensor& input, const DecoderBlock& block);

}  // namespace dt
