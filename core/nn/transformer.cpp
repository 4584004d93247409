#include "core/nn/transformer.h"

#include <cmath>

#include "core/nn/layers.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/random.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

Tensor given(TensorList inputs, int64_t i) {
  return i < inputs.size() ? inputs[i] : Tensor();
}

template <class Options>
Ref<Module> attention_of(int64_t d_model, int64_t nhead, const Options& o) {
  NnMultiheadAttentionOptions of;
  of.dropout = o.dropout;
  of.bias = o.bias;
  of.batch_first = o.batch_first;
  of.device = o.device;
  of.dtype = o.dtype;
  return nn_multihead_attention(d_model, nhead, of);
}

template <class Options>
Ref<Module> linear_of(int64_t in, int64_t out, const Options& o) {
  NnLinearOptions of;
  of.bias = o.bias;
  of.device = o.device;
  of.dtype = o.dtype;
  return nn_linear(in, out, of);
}

template <class Options>
Ref<Module> norm_of(int64_t d_model, const Options& o) {
  NnLayerNormOptions of;
  of.eps = o.layer_norm_eps;
  of.bias = o.bias;
  of.device = o.device;
  of.dtype = o.dtype;
  return nn_layer_norm({d_model}, of);
}

template <class Options>
Ref<Module> dropout_of(const Options& o) {
  NnDropoutOptions of;
  of.p = o.dropout;
  return nn_dropout(of);
}

// The children of a layer behind its attention, in PyTorch's order.
template <class Options>
void add_children(Module& layer, int64_t d_model, int parts, const Options& o) {
  layer.register_module("linear1", linear_of(d_model, o.dim_feedforward, o));
  layer.register_module("dropout", dropout_of(o));
  layer.register_module("linear2", linear_of(o.dim_feedforward, d_model, o));
  for (int i = 1; i <= parts; ++i) layer.register_module(text("norm", i), norm_of(d_model, o));
  for (int i = 1; i <= parts; ++i) layer.register_module(text("dropout", i), dropout_of(o));
}

}  // namespace

template <class Part>
Tensor TransformerLayer::add_part(const Tensor& x, int number, const Part& part) const {
  Module& norm = child(text("norm", number));
  const Tensor y = part(norm_first_ ? norm.forward({x}) : x);
  const Tensor sum = x + child(text("dropout", number)).forward({y});
  return norm_first_ ? sum : norm.forward({sum});
}

Tensor TransformerLayer::attend(const char* attention, const Tensor& x, const Tensor& memory,
                                const Tensor& mask, const Tensor& padding_mask) const {
  return child(attention).forward({x, memory, memory, padding_mask, mask});
}

Tensor TransformerLayer::feed_forward(const Tensor& x) const {
  const Tensor y = child("linear1").forward({x});
  const Tensor z = child("dropout").forward({activation_ == "relu" ? relu(y) : gelu(y)});
  return child("linear2").forward({z});
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                                                 const NnTransformerEncoderLayerOptions& o)
    : TransformerLayer("TransformerEncoderLayer", o.norm_first, o.activation) {
  register_module("self_attn", attention_of(d_model, nhead, o));
  add_children(*this, d_model, 2, o);
}

Tensor TransformerEncoderLayer::forward(TensorList inputs) {
  check_inputs(inputs, 1, 3);
  const Tensor y = add_part(inputs[0], 1, [&](const Tensor& x) {
    return attend("self_attn", x, x, given(inputs, 1), given(inputs, 2));
  });
  return add_part(y, 2, [&](const Tensor& x) { return feed_forward(x); });
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t d_model, int64_t nhead,
                                                 const NnTransformerDecoderLayerOptions& o)
    : TransformerLayer("TransformerDecoderLayer", o.norm_first, o.activation) {
  register_module("self_attn", attention_of(d_model, nhead, o));
  register_module("multihead_attn", attention_of(d_model, nhead, o));
  add_children(*this, d_model, 3, o);
}

Tensor TransformerDecoderLayer::forward(TensorList inputs) {
  check_inputs(inputs, 2, 6);
  const Tensor y = add_part(inputs[0], 1, [&](const Tensor& x) {
    return attend("self_attn", x, x, given(inputs, 2), given(inputs, 4));
  });
  const Tensor z = add_part(y, 2, [&](const Tensor& x) {
    return attend("multihead_attn", x, inputs[1], given(inputs, 3), given(inputs, 5));
  });
  return add_part(z, 3, [&](const Tensor& x) { return feed_forward(x); });
}

namespace {

// Layers with a norm behind them: each is applied to what the one before gives, and to what else
// there is.
class TransformerStack final : public Module {
 public:
  TransformerStack(const char* kind, const Ref<Module>& norm) : Module(kind) {
    register_module("layers", make_container("ModuleList"));
    register_module("norm", norm);
  }
  Module& layers() const { return *child(0); }

  Tensor forward(TensorList inputs) override {
    check_inputs(inputs, 1, 6);
    std::vector<Tensor> now(inputs.begin(), inputs.end());
    for (int64_t i = 0; i < layers().child_count(); ++i) now[0] = layers().child(i)->forward(now);
    return child("norm").forward({now[0]});
  }
};

template <class LayerOptions>
LayerOptions layer_options(const NnTransformerOptions& o) {
  LayerOptions of;
  of.dim_feedforward = o.dim_feedforward;
  of.dropout = o.dropout;
  of.activation = o.activation;
  of.layer_norm_eps = o.layer_norm_eps;
  of.batch_first = o.batch_first;
  of.norm_first = o.norm_first;
  of.bias = o.bias;
  of.device = o.device;
  of.dtype = o.dtype;
  return of;
}

// `make` is the constructor of a layer.
template <class LayerOptions, class Make>
Ref<Module> stack_of(const char* kind, int64_t layers, const NnTransformerOptions& o, Make make) {
  auto* stack = new TransformerStack(kind, norm_of(o.d_model, o));
  const auto settings = layer_options<LayerOptions>(o);
  for (int64_t i = 0; i < layers; ++i)
    stack->layers().register_module(std::to_string(i), make(o.d_model, o.nhead, settings));
  return Ref<Module>::adopt(stack);
}

}  // namespace

Transformer::Transformer(const NnTransformerOptions& o) : Module("Transformer") {
  register_module("encoder",
                  stack_of<NnTransformerEncoderLayerOptions>(
                      "TransformerEncoder", o.num_encoder_layers, o, nn_transformer_encoder_layer));
  register_module("decoder",
                  stack_of<NnTransformerDecoderLayerOptions>(
                      "TransformerDecoder", o.num_decoder_layers, o, nn_transformer_decoder_layer));
  const GradMode off(false);
  for (const auto& [name, x] : named_parameters()) {
    if (x.ndim() < 2) continue;
    const double bound = std::sqrt(6.0 / static_cast<double>(x.size(0) + x.size(1)));
    uniform_(x, -bound, bound);
  }
}

Tensor Transformer::forward(TensorList inputs) {
  check_inputs(inputs, 2, 8);
  const Tensor memory = child("encoder").forward({inputs[0], given(inputs, 2), given(inputs, 5)});
  return child("decoder").forward(
      {inputs[1], memory, given(inputs, 3), given(inputs, 4), given(inputs, 6), given(inputs, 7)});
}

}  // namespace dt
