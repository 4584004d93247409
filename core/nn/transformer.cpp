#include "core/nn/transformer.h"

#include "core/nn/layers.h"
#include "core/ops/formula.h"
#include "core/ops/init.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise.gen.h"

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

TransformerStack::TransformerStack(const char* kind, const Ref<Module>& layer, int64_t num_layers,
                                   const Ref<Module>& norm)
    : Module(kind) {
  const Ref<Module> layers = make_container("ModuleList");
  for (int64_t i = 0; i < num_layers; ++i)
    layers->register_module(std::to_string(i), layer->clone());
  register_module("layers", layers);
  if (norm) register_module("norm", norm);
}

Tensor TransformerStack::run(TensorList inputs) const {
  const Module& layers = child("layers");
  std::vector<Tensor> now(inputs.begin(), inputs.end());
  now[0] = layers.child(0)->forward(now);  // an IndexError where there are no layers
  for (int64_t i = 1; i < layers.child_count(); ++i) now[0] = layers.child(i)->forward(now);
  return has_child("norm") ? child("norm").forward({now[0]}) : now[0];
}

TransformerEncoder::TransformerEncoder(const Ref<Module>& encoder_layer, int64_t num_layers,
                                       const NnTransformerEncoderOptions& o)
    : TransformerStack("TransformerEncoder", encoder_layer, num_layers, o.norm) {}

Tensor TransformerEncoder::forward(TensorList inputs) {
  check_inputs(inputs, 1, 3);
  return run(inputs);
}

TransformerDecoder::TransformerDecoder(const Ref<Module>& decoder_layer, int64_t num_layers,
                                       const NnTransformerDecoderOptions& o)
    : TransformerStack("TransformerDecoder", decoder_layer, num_layers, o.norm) {}

Tensor TransformerDecoder::forward(TensorList inputs) {
  check_inputs(inputs, 2, 6);
  return run(inputs);
}

namespace {

// `LayerOptions` are those of a layer that `make` makes, and `Options` those of a stack of them.
template <class LayerOptions, class Options, class Make, class MakeStack>
Ref<Module> stack_of(int64_t layers, const NnTransformerOptions& o, Make make, MakeStack stack) {
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
  Options settings;
  settings.norm = norm_of(o.d_model, o);
  return stack(make(o.d_model, o.nhead, of), layers, settings);
}

}  // namespace

Transformer::Transformer(const NnTransformerOptions& o)
    : Module("Transformer"), d_model_(o.d_model), batch_first_(o.batch_first) {
  register_module(
      "encoder",
      stack_of<NnTransformerEncoderLayerOptions, NnTransformerEncoderOptions>(
          o.num_encoder_layers, o, nn_transformer_encoder_layer, nn_transformer_encoder));
  register_module(
      "decoder",
      stack_of<NnTransformerDecoderLayerOptions, NnTransformerDecoderOptions>(
          o.num_decoder_layers, o, nn_transformer_decoder_layer, nn_transformer_decoder));
  for (const auto& [name, x] : named_parameters()) {
    if (x.ndim() > 1) xavier_uniform_(x);
  }
}

Tensor Transformer::forward(TensorList inputs) {
  check_inputs(inputs, 2, 8);
  const Tensor &src = inputs[0], &tgt = inputs[1];
  const int batch = batch_first_ ? 0 : 1;
  DT_CHECK(src.ndim() != 3 || src.size(batch) == tgt.size(batch), kRuntimeError,
           "the batch number of src and tgt must be equal");
  DT_CHECK(src.size(-1) == d_model_ && tgt.size(-1) == d_model_, kRuntimeError,
           "the feature number of src and tgt must be equal to d_model");
  const Tensor memory = child("encoder").forward({src, given(inputs, 2), given(inputs, 5)});
  return child("decoder").forward(
      {tgt, memory, given(inputs, 3), given(inputs, 4), given(inputs, 6), given(inputs, 7)});
}

}  // namespace dt
