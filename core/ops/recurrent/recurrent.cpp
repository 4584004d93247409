// Recurrent networks: layers of directions (run.h). Sequences of one length are packed ones whose
// batch has the same size at each time step.
#include "core/ops/recurrent.gen.h"

#include "core/ops/autocast/autocast.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/nn.gen.h"
#include "core/ops/recurrent/checks.h"
#include "core/ops/recurrent/packing.h"
#include "core/ops/recurrent/run.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

struct RecurrentSettings {
  Recurrence kind;
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train, bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t passes() const { return num_layers * directions(); }
};

// The weights of each pass, layer by layer, each layer's directions together.
std::vector<RecurrentWeights> sort_weights(const RecurrentSettings& s, TensorList params) {
  const int64_t plain = s.has_biases ? 4 : 2;
  const bool may_project = s.kind == Recurrence::kLstm;
  check_layer_count(s.num_layers);
  check_weight_count(params.size(), s.passes() * plain, s.passes() * (plain + may_project));
  const int64_t each = params.size() / s.passes();
  std::vector<RecurrentWeights> sorted;
  for (int64_t i = 0; i < params.size(); i += each) {
    RecurrentWeights w;
    w.input = params[i], w.hidden = params[i + 1];
    if (s.has_biases) {
      w.input_bias = params[i + 2];
      w.hidden_bias = params[i + 3];
    }
    if (each > plain) w.projection = params[i + plain];
    check_weights(s.kind, w);
    sorted.push_back(std::move(w));
  }
  return sorted;
}

// What each pass begins with: [batch, features] of [passes, batch, features], or zeros.
std::vector<Tensor> first_states(const RecurrentSettings& s, TensorList states, int which,
                                 const Tensor& rows, int64_t batch, int64_t features) {
  if (states.size() == 0)
    return std::vector<Tensor>(static_cast<size_t>(s.passes()), new_zeros(rows, {batch, features}));
  check_state(s.kind, which, states[which], {s.passes(), batch, features});
  return unbind(states[which]);
}

struct Network {
  Tensor rows, h_n, c_n;
};

Network run_layers(const RecurrentSettings& s, const Tensor& packed, IntList batch_sizes,
                   TensorList states, TensorList params) {
  const std::vector<RecurrentWeights> weights = sort_weights(s, params);
  check_features(packed, weights[0].input);
  const bool is_lstm = s.kind == Recurrence::kLstm;
  const int64_t batch = batch_sizes[0], hidden = weights[0].hidden.size(0) / gates_of(s.kind);
  const auto h = first_states(s, states, 0, packed, batch, weights[0].hidden.size(-1));
  const auto c = is_lstm ? first_states(s, states, 1, packed, batch, hidden) : h;
  Tensor rows = packed;
  std::vector<Tensor> h_n, c_n;
  for (int64_t layer = 0; layer < s.num_layers; ++layer) {
    if (layer > 0) rows = dropout(rows, s.dropout, s.train);
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < s.directions(); ++direction) {
      const size_t i = static_cast<size_t>(layer * s.directions() + direction);
      const RecurrentState first{h[i], is_lstm ? c[i] : Tensor()};
      const RecurrentRun run =
          run_recurrent(s.kind, rows, batch_sizes, first, weights[i], direction == 1);
      outputs.push_back(run.rows);
      h_n.push_back(run.last.h);
      c_n.push_back(run.last.c);
    }
    rows = s.bidirectional ? cat(outputs, 1) : outputs[0];
  }
  return {rows, stack(h_n), is_lstm ? stack(c_n) : Tensor()};
}

Network run_packed(const RecurrentSettings& s, const Tensor& data, const Tensor& batch_sizes,
                   TensorList states, TensorList params) {
  check_packed(data, batch_sizes);
  std::vector<int64_t> sizes = ints_of(batch_sizes);
  check_batch_sizes(data, sizes);
  while (sizes.size() > 1 && sizes.back() == 0) sizes.pop_back();  // steps that nobody takes
  return run_layers(s, data, sizes, states, params);
}

// Of [passes, 1, features].
Tensor without_batch(const Tensor& x) {
  return x.defined() ? unsafe_view(x, {x.size(0), x.size(2)}) : x;
}

// [time, batch, features], whatever the input is: its batch may come first, or not be there.
Network run_sequences(const RecurrentSettings& s, const Tensor& input, TensorList states,
                      TensorList params, bool batch_first) {
  check_sequences(s.kind, input, states, batch_first);
  const bool batched = input.ndim() == 3, turned = batched && batch_first;
  const Tensor x = !batched ? unsqueeze(input, 1) : turned ? transpose(input, 0, 1) : input;
  std::vector<Tensor> first;
  for (const Tensor& state : states) first.push_back(batched ? state : unsqueeze(state, 1));
  const int64_t steps = x.size(0), batch = x.size(1);
  const std::vector<int64_t> sizes(static_cast<size_t>(steps), batch);
  const Tensor rows = reshape(x, {steps * batch, x.size(2)});
  Network y = run_layers(s, rows, sizes, first, params);
  if (!batched) return {y.rows, without_batch(y.h_n), without_batch(y.c_n)};
  y.rows = unsafe_view(y.rows, {steps, batch, y.rows.size(1)});
  if (turned) transpose_(y.rows, 0, 1);
  return y;
}

using Single = std::tuple<Tensor, Tensor>;
using Pair = std::tuple<Tensor, Tensor, Tensor>;

Single output_and_state(const Network& y) {
  return {y.rows, y.h_n};
}

// The hidden state and the cells, as far as given.
TensorList pair_of(const std::optional<TensorList>& hx, const char* function = "lstm") {
  if (!hx) return {};
  check_state_pair(*hx, function);
  return *hx;
}

std::vector<Tensor> list_of(const Tensor& hx) {
  return hx.defined() ? std::vector<Tensor>{hx} : std::vector<Tensor>{};
}

// One time step of one layer.
RecurrentState run_cell(Recurrence kind, const Tensor& input, TensorList hx,
                        const RecurrentWeights& w) {
  check_cell(kind, input, hx);
  const bool batched = input.ndim() == 2;
  const Tensor rows = batched ? input : unsqueeze(input, 0);
  std::vector<Tensor> states;
  for (const Tensor& s : hx) states.push_back(batched ? s : unsqueeze(s, 0));
  check_weights(kind, w);
  check_cell_sizes(rows, states, w.input, w.hidden);
  if (w.input_bias.defined()) check_addend_dtype(w.input_bias, w.input);
  if (w.hidden_bias.defined()) check_addend_dtype(w.hidden_bias, w.hidden);
  const bool is_lstm = kind == Recurrence::kLstm;
  const int64_t batch = rows.size(0);
  if (states.empty()) states.assign(2, new_zeros(rows, {batch, w.hidden.size(1)}));
  const RecurrentState first{states[0], is_lstm ? states[1] : Tensor()};
  const RecurrentState next = run_recurrent(kind, rows, {batch}, first, w, false).last;
  if (batched) return next;
  const int64_t hidden = w.hidden.size(1);
  return {unsafe_view(next.h, {hidden}), is_lstm ? unsafe_view(next.c, {hidden}) : Tensor()};
}

}  // namespace

Pair lstm(const Tensor& input, std::optional<TensorList> hx, TensorList params, bool has_biases,
          int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  const RecurrentSettings s{Recurrence::kLstm, has_biases, num_layers,
                            dropout,           train,      bidirectional};
  const Tensor* cast[] = {&input};
  TensorList lists[] = {pair_of(hx), params};
  // PyTorch's CPU has one op for it, of the half precision, which does not project. The division
  // is for numbers of layers that would overflow.
  const bool projects = params.size() / (s.directions() * (has_biases ? 5 : 3)) == num_layers;
  std::optional<Casts> casts;
  if (is_autocasting() && !projects)
    casts.emplace(CastPolicies{CastPolicy::kLowerPrecisionFp, CastPolicy::kNone}, cast, lists);
  const Network y = run_sequences(s, *cast[0], lists[0], lists[1], batch_first);
  return {y.rows, y.h_n, y.c_n};
}

Pair lstm_packed(const Tensor& data, const Tensor& batch_sizes, std::optional<TensorList> hx,
                 TensorList params, bool has_biases, int64_t num_layers, double dropout, bool train,
                 bool bidirectional) {
  const RecurrentSettings s{Recurrence::kLstm, has_biases, num_layers,
                            dropout,           train,      bidirectional};
  const Network y = run_packed(s, data, batch_sizes, pair_of(hx), params);
  return {y.rows, y.h_n, y.c_n};
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, std::optional<TensorList> hx,
                                     const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                                     const Tensor& b_hh) {
  const RecurrentWeights weights{w_ih, w_hh, b_ih, b_hh, Tensor()};
  const RecurrentState next = run_cell(Recurrence::kLstm, input, pair_of(hx, "lstm_cell"), weights);
  return {next.h, next.c};
}

Single gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
           int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  const RecurrentSettings s{Recurrence::kGru, has_biases, num_layers,
                            dropout,          train,      bidirectional};
  return output_and_state(run_sequences(s, input, list_of(hx), params, batch_first));
}

Single gru_packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                  TensorList params, bool has_biases, int64_t num_layers, double dropout,
                  bool train, bool bidirectional) {
  const RecurrentSettings s{Recurrence::kGru, has_biases, num_layers,
                            dropout,          train,      bidirectional};
  return output_and_state(run_packed(s, data, batch_sizes, list_of(hx), params));
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  return run_cell(Recurrence::kGru, input, list_of(hx), {w_ih, w_hh, b_ih, b_hh, Tensor()}).h;
}

Single rnn_tanh(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                int64_t num_layers, double dropout, bool train, bool bidirectional,
                bool batch_first) {
  const RecurrentSettings s{Recurrence::kTanh, has_biases, num_layers,
                            dropout,           train,      bidirectional};
  return output_and_state(run_sequences(s, input, list_of(hx), params, batch_first));
}

Single rnn_tanh_packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                       TensorList params, bool has_biases, int64_t num_layers, double dropout,
                       bool train, bool bidirectional) {
  const RecurrentSettings s{Recurrence::kTanh, has_biases, num_layers,
                            dropout,           train,      bidirectional};
  return output_and_state(run_packed(s, data, batch_sizes, list_of(hx), params));
}

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  return run_cell(Recurrence::kTanh, input, list_of(hx), {w_ih, w_hh, b_ih, b_hh, Tensor()}).h;
}

Single rnn_relu(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                int64_t num_layers, double dropout, bool train, bool bidirectional,
                bool batch_first) {
  const RecurrentSettings s{Recurrence::kRelu, has_biases, num_layers,
                            dropout,           train,      bidirectional};
  return output_and_state(run_sequences(s, input, list_of(hx), params, batch_first));
}

Single rnn_relu_packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                       TensorList params, bool has_biases, int64_t num_layers, double dropout,
                       bool train, bool bidirectional) {
  const RecurrentSettings s{Recurrence::kRelu, has_biases, num_layers,
                            dropout,           train,      bidirectional};
  return output_and_state(run_packed(s, data, batch_sizes, list_of(hx), params));
}

Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  return run_cell(Recurrence::kRelu, input, list_of(hx), {w_ih, w_hh, b_ih, b_hh, Tensor()}).h;
}

}  // namespace dt
