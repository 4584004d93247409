#include "core/nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "core/ops/autocast.gen.h"
#include "core/ops/creation.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/recurrent.gen.h"
#include "core/runtime/context.h"

namespace dt {

Recurrent::Recurrent(const char* kind, const Sizes& sizes, DType dtype, Device device)
    : ManyOutputs(kind), sizes_(sizes) {
  const int64_t outputs = sizes.projected > 0 ? sizes.projected : sizes.hidden;
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    const int64_t features = layer == 0 ? sizes.input : outputs * (sizes.bidirectional ? 2 : 1);
    add_direction(features, text("_l", layer), dtype, device);
    if (sizes.bidirectional) add_direction(features, text("_l", layer, "_reverse"), dtype, device);
  }
  const GradMode off(false);
  const double bound = 1 / std::sqrt(static_cast<double>(sizes.hidden));
  for (const Tensor& w : weights()) uniform_(w, -bound, bound);
}

void Recurrent::add_direction(int64_t features, const std::string& suffix, DType dtype,
                              Device device) {
  const int64_t rows = sizes_.gates * sizes_.hidden;
  const int64_t outputs = sizes_.projected > 0 ? sizes_.projected : sizes_.hidden;
  register_parameter("weight_ih" + suffix, empty({rows, features}, dtype, device));
  register_parameter("weight_hh" + suffix, empty({rows, outputs}, dtype, device));
  if (sizes_.bias) {
    register_parameter("bias_ih" + suffix, empty({rows}, dtype, device));
    register_parameter("bias_hh" + suffix, empty({rows}, dtype, device));
  }
  if (sizes_.projected > 0)
    register_parameter("weight_hr" + suffix, empty({outputs, sizes_.hidden}, dtype, device));
}

std::vector<Tensor> Recurrent::weights() const {
  std::vector<Tensor> list;
  for (const auto& [name, w] : state_dict()) list.push_back(w);
  return list;
}

RNN::RNN(int64_t input_size, int64_t hidden_size, const NnRnnOptions& o)
    : Recurrent("RNN",
                {input_size, hidden_size, 1, o.num_layers, o.bias, o.batch_first, o.dropout,
                 o.bidirectional},
                o.dtype, o.device),
      is_relu_(o.nonlinearity == "relu") {}

std::vector<Tensor> RNN::forward_outputs(TensorList inputs) {
  check_inputs(inputs, 1, 2);
  const Tensor first = inputs.size() > 1 ? inputs[1] : Tensor();
  const auto function = is_relu_ ? autocast::rnn_relu : autocast::rnn_tanh;
  const auto [y, h] =
      function(inputs[0], first, weights(), sizes_.bias, sizes_.layers, sizes_.dropout, training(),
               sizes_.bidirectional, sizes_.batch_first);
  return {y, h};
}

LSTM::LSTM(int64_t input_size, int64_t hidden_size, const NnLstmOptions& o)
    : Recurrent("LSTM",
                {input_size, hidden_size, 4, o.num_layers, o.bias, o.batch_first, o.dropout,
                 o.bidirectional, o.proj_size},
                o.dtype, o.device) {}

std::vector<Tensor> LSTM::forward_outputs(TensorList inputs) {
  check_inputs(inputs, 1, 3);
  const auto given = [](const Tensor& t) { return t.defined(); };
  std::optional<TensorList> first;
  if (std::any_of(inputs.begin() + 1, inputs.end(), given)) {
    check_inputs(inputs, 3, 3);
    first = TensorList(inputs.begin() + 1, 2);
  }
  const auto [y, h, c] =
      autocast::lstm(inputs[0], first, weights(), sizes_.bias, sizes_.layers, sizes_.dropout,
                     training(), sizes_.bidirectional, sizes_.batch_first);
  return {y, h, c};
}

GRU::GRU(int64_t input_size, int64_t hidden_size, const NnGruOptions& o)
    : Recurrent("GRU",
                {input_size, hidden_size, 3, o.num_layers, o.bias, o.batch_first, o.dropout,
                 o.bidirectional},
                o.dtype, o.device) {}

std::vector<Tensor> GRU::forward_outputs(TensorList inputs) {
  check_inputs(inputs, 1, 2);
  const Tensor first = inputs.size() > 1 ? inputs[1] : Tensor();
  const auto [y, h] =
      autocast::gru(inputs[0], first, weights(), sizes_.bias, sizes_.layers, sizes_.dropout,
                    training(), sizes_.bidirectional, sizes_.batch_first);
  return {y, h};
}

}  // namespace dt
