#include "core/nn/attention.h"

#include "core/nn/layers.h"
#include "core/ops/attention.gen.h"
#include "core/ops/creation.gen.h"
#include "core/ops/init.gen.h"
#include "core/ops/overwrite.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {

// The places of the state, which state(i) has in this order.
namespace {
enum StateIndex { kInWeight, kQuery, kKey, kValue, kInBias, kBiasK, kBiasV };
}  // namespace

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                                       const NnMultiheadAttentionOptions& o)
    : ManyOutputs("MultiheadAttention"),
      embed_dim_(embed_dim),
      num_heads_(num_heads),
      dropout_(o.dropout),
      add_zero_attn_(o.add_zero_attn),
      batch_first_(o.batch_first),
      separate_(o.kdim.value_or(embed_dim) != embed_dim ||
                o.vdim.value_or(embed_dim) != embed_dim) {
  const auto add = [&](const char* name, bool given, IntList sizes) {
    register_parameter(name, given ? empty(sizes, o.dtype, o.device) : Tensor());
  };
  add("in_proj_weight", !separate_, {3 * embed_dim, embed_dim});
  add("q_proj_weight", separate_, {embed_dim, embed_dim});
  add("k_proj_weight", separate_, {embed_dim, o.kdim.value_or(embed_dim)});
  add("v_proj_weight", separate_, {embed_dim, o.vdim.value_or(embed_dim)});
  add("in_proj_bias", o.bias, {3 * embed_dim});
  add("bias_k", o.add_bias_kv, {1, 1, embed_dim});
  add("bias_v", o.add_bias_kv, {1, 1, embed_dim});
  NnLinearOptions linear;
  linear.bias = o.bias;
  linear.device = o.device;
  linear.dtype = o.dtype;
  register_module("out_proj", nn_linear(embed_dim, embed_dim, linear));
  initialize();
}

void MultiheadAttention::initialize() {
  const GradMode off(false);
  for (const StateIndex place : {kInWeight, kQuery, kKey, kValue}) {
    if (state(place).defined()) xavier_uniform_(state(place));
  }
  if (state(kInBias).defined()) {
    zero_(state(kInBias));
    zero_(tensor("out_proj.bias"));
  }
  for (const StateIndex place : {kBiasK, kBiasV}) {
    if (state(place).defined()) xavier_normal_(state(place));
  }
}

std::vector<Tensor> MultiheadAttention::attend(TensorList inputs, bool need_weights) {
  check_inputs(inputs, 3, 5);
  const auto given = [&](int64_t i) { return i < inputs.size() ? inputs[i] : Tensor(); };
  const bool turned = batch_first_ && inputs[0].ndim() == 3;
  const auto turn = [&](const Tensor& x) {
    return turned && x.ndim() == 3 ? transpose(x, 0, 1) : x;
  };
  const Tensor query = turn(inputs[0]);
  const Tensor key = inputs[1].is_same(inputs[0]) ? query : turn(inputs[1]);
  const Tensor value = inputs[2].is_same(inputs[1]) ? key : turn(inputs[2]);
  const auto [y, weights] = multi_head_attention_forward(
      query, key, value, embed_dim_, num_heads_, state(kInWeight), state(kInBias), state(kBiasK),
      state(kBiasV), add_zero_attn_, dropout_, tensor("out_proj.weight"), tensor("out_proj.bias"),
      training(), given(3), need_weights, given(4), separate_, state(kQuery), state(kKey),
      state(kValue));
  // Those who have positions first get them first in memory, as of PyTorch.
  const Tensor result = turned ? transpose(y, 0, 1) : contiguous(y);
  if (!need_weights) return {result};
  return {result, weights};
}

}  // namespace dt
