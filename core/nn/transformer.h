// Transformers: layers that are made of attention, linear layers and norms, under PyTorch's names.
#pragma once

#include <string>

#include "core/nn/module.h"
#include "core/ops/options.h"

namespace dt {

// What the layers of encoders and decoders share: parts whose results are added to what they are
// applied to.
class TransformerLayer : public Module {
 protected:
  TransformerLayer(const char* kind, bool norm_first, std::string activation)
      : Module(kind), norm_first_(norm_first), activation_(std::move(activation)) {}

  // x + dropoutN(part(normN(x))), or normN(x + dropoutN(part(x))).
  template <class Part>
  Tensor add_part(const Tensor& x, int number, const Part& part) const;
  Tensor attend(const char* attention, const Tensor& x, const Tensor& memory, const Tensor& mask,
                const Tensor& padding_mask) const;
  Tensor feed_forward(const Tensor& x) const;

 private:
  const bool norm_first_;
  const std::string activation_;
};

class TransformerEncoderLayer final : public TransformerLayer {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                          const NnTransformerEncoderLayerOptions& options);
  Tensor forward(TensorList inputs) override;

 private:
  Module* another() const override { return new TransformerEncoderLayer(*this); }
};

class TransformerDecoderLayer final : public TransformerLayer {
 public:
  TransformerDecoderLayer(int64_t d_model, int64_t nhead,
                          const NnTransformerDecoderLayerOptions& options);
  Tensor forward(TensorList inputs) override;

 private:
  Module* another() const override { return new TransformerDecoderLayer(*this); }
};

// Copies of a layer, and maybe a norm behind them.
class TransformerStack : public Module {
 protected:
  TransformerStack(const char* kind, const Ref<Module>& layer, int64_t num_layers,
                   const Ref<Module>& norm);

  // Each layer is applied to what the one before gives, the first to inputs[0], and to what else
  // there is.
  Tensor run(TensorList inputs) const;
};

class TransformerEncoder final : public TransformerStack {
 public:
  TransformerEncoder(const Ref<Module>& encoder_layer, int64_t num_layers,
                     const NnTransformerEncoderOptions& options);
  Tensor forward(TensorList inputs) override;

 private:
  Module* another() const override { return new TransformerEncoder(*this); }
};

class TransformerDecoder final : public TransformerStack {
 public:
  TransformerDecoder(const Ref<Module>& decoder_layer, int64_t num_layers,
                     const NnTransformerDecoderOptions& options);
  Tensor forward(TensorList inputs) override;

 private:
  Module* another() const override { return new TransformerDecoder(*this); }
};

class Transformer final : public Module {
 public:
  explicit Transformer(const NnTransformerOptions& options);
  Tensor forward(TensorList inputs) override;

 private:
  Module* another() const override { return new Transformer(*this); }

  const int64_t d_model_;
  const bool batch_first_;
};

}  // namespace dt
