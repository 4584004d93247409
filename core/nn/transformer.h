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
};

class TransformerDecoderLayer final : public TransformerLayer {
 public:
  TransformerDecoderLayer(int64_t d_model, int64_t nhead,
                          const NnTransformerDecoderLayerOptions& options);
  Tensor forward(TensorList inputs) override;
};

class Transformer final : public Module {
 public:
  explicit Transformer(const NnTransformerOptions& options);
  Tensor forward(TensorList inputs) override;
};

}  // namespace dt
