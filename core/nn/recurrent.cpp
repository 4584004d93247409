#include "core/nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "core/ops/autocast.gen.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
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

std::vector<Tensor> Recurrent::Given::restored(std::vector<Tensor> results) const {
  if (!unsorted_indices.defined()) return results;
  for (size_t i = 1; i < results.size(); ++i)
    results[i] = index_select(results[i], 1, unsorted_indices);
  return results;
}

Recurrent::Given Recurrent::read(TensorList inputs, int64_t states) const {
  const bool packed = inputs.size() > 3;  // more than an input and two states
  const int64_t first = packed ? 4 : 1, all = first + states;
  check_inputs(inputs, packed ? 2 : 1, all);
  Given given;
  given.input = inputs[0];
  if (packed) {
    given.batch_sizes = inputs[1];
    given.sorted_indices = inputs[2];
    given.unsorted_indices = inputs[3];
    DT_CHECK(inputs[2].defined() == inputs[3].defined(), kTypeError, kind(),
             ".forward: sorted_indices and unsorted_indices are given both or not at all");
  }
  const auto is_given = [](const Tensor& t) { return t.defined(); };
  if (std::none_of(inputs.begin() + first, inputs.end(), is_given)) return given;
  for (int64_t i = first; i < all; ++i) {
    DT_CHECK(i < inputs.size() && inputs[i].defined(), kTypeError, kind(), ".forward: input ", i,
             " is missing");
    const Tensor& order = given.sorted_indices;
    given.states.push_back(order.defined() ? index_select(inputs[i], 1, order) : inputs[i]);
  }
  return given;
}

template <class Function, class OfPacked>
std::vector<Tensor> Recurrent::apply(TensorList inputs, Function function,
                                     OfPacked of_packed) const {
  const Given x = read(inputs, 1);
  const Tensor first = x.states.empty() ? Tensor() : x.states[0];
  const auto [y, h] =
      x.is_packed()
          ? of_packed(x.input, x.batch_sizes, first, weights(), sizes_.bias, sizes_.layers,
                      sizes_.dropout, training(), sizes_.bidirectional)
          : function(x.input, first, weights(), sizes_.bias, sizes_.layers, sizes_.dropout,
                     training(), sizes_.bidirectional, sizes_.batch_first);
  return x.restored({y, h});
}

RNN::RNN(int64_t input_size, int64_t hidden_size, const NnRnnOptions& o)
    : Recurrent("RNN",
                {input_size, hidden_size, 1, o.num_layers, o.bias, o.batch_first, o.dropout,
                 o.bidirectional},
                o.dtype, o.device),
      is_relu_(o.nonlinearity == "relu") {}

std::vector<Tensor> RNN::forward_outputs(TensorList inputs) {
  return is_relu_ ? apply(inputs, autocast::rnn_relu, autocast::rnn_relu_packed)
                  : apply(inputs, autocast::rnn_tanh, autocast::rnn_tanh_packed);
}

LSTM::LSTM(int64_t input_size, int64_t hidden_size, const NnLstmOptions& o)
    : Recurrent("LSTM",
                {input_size, hidden_size, 4, o.num_layers, o.bias, o.batch_first, o.dropout,
                 o.bidirectional, o.proj_size},
                o.dtype, o.device) {}

std::vector<Tensor> LSTM::forward_outputs(TensorList inputs) {
  const Given x = read(inputs, 2);
  std::optional<TensorList> first;
  if (!x.states.empty()) first = x.states;
  const auto [y, h, c] =
      x.is_packed()
          ? autocast::lstm_packed(x.input, x.batch_sizes, first, weights(), sizes_.bias,
                                  sizes_.layers, sizes_.dropout, training(), sizes_.bidirectional)
          : autocast::lstm(x.input, first, weights(), sizes_.bias, sizes_.layers, sizes_.dropout,
                           training(), sizes_.bidirectional, sizes_.batch_first);
  return x.restored({y, h, c});
}

GRU::GRU(int64_t input_size, int64_t hidden_size, const NnGruOptions& o)
    : Recurrent("GRU",
                {input_size, hidden_size, 3, o.num_layers, o.bias, o.batch_first, o.dropout,
                 o.bidirectional},
                o.dtype, o.device) {}

std::vector<Tensor> GRU::forward_outputs(TensorList inputs) {
  return apply(inputs, autocast::gru, autocast::gru_packed);
}

}  // namespace dt
