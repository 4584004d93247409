// RNN, LSTM and GRU: weights for each layer and direction, under PyTorch's names.
#pragma once

#include <vector>

#include "core/nn/module.h"
#include "core/ops/options.h"

namespace dt {

class Recurrent : public ManyOutputs {
 protected:
  struct Sizes {
    int64_t input, hidden, gates, layers;
    bool bias, batch_first;
    double dropout;
    bool bidirectional;
    int64_t projected = 0;
  };

  Recurrent(const char* kind, const Sizes& sizes, DType dtype, Device device);

  // In the order in which functions take them: layer by layer, each layer's directions together.
  std::vector<Tensor> weights() const;

  const Sizes sizes_;

 private:
  void add_direction(int64_t features, const std::string& suffix, DType dtype, Device device);
};

class RNN final : public Recurrent {
 public:
  RNN(int64_t input_size, int64_t hidden_size, const NnRnnOptions& options);
  std::vector<Tensor> forward_outputs(TensorList inputs) override;

 private:
  const bool is_relu_;
};

class LSTM final : public Recurrent {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, const NnLstmOptions& options);
  std::vector<Tensor> forward_outputs(TensorList inputs) override;
};

class GRU final : public Recurrent {
 public:
  GRU(int64_t input_size, int64_t hidden_size, const NnGruOptions& options);
  std::vector<Tensor> forward_outputs(TensorList inputs) override;
};

}  // namespace dt
