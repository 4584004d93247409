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

  // What forward is given: an input, or the four tensors that are packed sequences, and then the
  // states that it begins with, all or none.
  struct Given {
    Tensor input, batch_sizes, sorted_indices, unsorted_indices;
    std::vector<Tensor> states;  // in the order of packed sequences

    bool is_packed() const { return batch_sizes.defined(); }
    // The outputs, and the states that these end with in the order in which sequences were given.
    std::vector<Tensor> restored(std::vector<Tensor> results) const;
  };
  Given read(TensorList inputs, int64_t states) const;
  // What GRU::forward_outputs and RNN's have in common.
  template <class Function, class OfPacked>
  std::vector<Tensor> apply(TensorList inputs, Function function, OfPacked of_packed) const;

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
  Module* another() const override { return new RNN(*this); }

  const bool is_relu_;
};

class LSTM final : public Recurrent {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, const NnLstmOptions& options);
  std::vector<Tensor> forward_outputs(TensorList inputs) override;

 private:
  Module* another() const override { return new LSTM(*this); }
};

class GRU final : public Recurrent {
 public:
  GRU(int64_t input_size, int64_t hidden_size, const NnGruOptions& options);
  std::vector<Tensor> forward_outputs(TensorList inputs) override;

 private:
  Module* another() const override { return new GRU(*this); }
};

}  // namespace dt
