// MultiheadAttention: the projections of attention with several heads, under PyTorch's names.
#pragma once

#include <vector>

#include "core/nn/module.h"
#include "core/ops/options.h"

namespace dt {

class MultiheadAttention final : public ManyOutputs {
 public:
  MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                     const NnMultiheadAttentionOptions& options);

  // The output alone: the weights need not be known then.
  Tensor forward(TensorList inputs) override { return attend(inputs, false)[0]; }
  std::vector<Tensor> forward_outputs(TensorList inputs) override { return attend(inputs, true); }

 private:
  Module* another() const override { return new MultiheadAttention(*this); }
  void initialize();
  std::vector<Tensor> attend(TensorList inputs, bool need_weights);

  const int64_t embed_dim_, num_heads_;
  const double dropout_;
  const bool add_zero_attn_, batch_first_, separate_;
};

}  // namespace dt
