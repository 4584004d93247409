#include "core/ops/recurrent/run.h"

#include <optional>

#include "core/autograd/record.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/autocast/autocast.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise_activation.gen.h"
#include "core/ops/recurrent/at_once.h"
#include "core/ops/recurrent/hidden_side.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

RecurrentState lstm_step(const Tensor& gates, const RecurrentState& s, const Tensor& projection) {
  const int64_t n = s.c.size(1);
  const std::vector<Tensor> gate =
      split_with_sizes(gates, {n, n, n, n}, 1);  // input, forget, cell, output
  const Tensor c = gated_add(s.c, gate[1], gated(tanh(gate[2]), gate[0]));
  const Tensor h = gated(tanh(c), gate[3]);
  return {projection.defined() ? autocast::linear(h, projection, Tensor()) : h, c};
}

Tensor gru_step(const Tensor& from_input, const Tensor& from_hidden, const Tensor& h) {
  const int64_t n = h.size(1);
  const std::vector<Tensor> x = split_with_sizes(from_input, {2 * n, n}, 1);
  const std::vector<Tensor> y = split_with_sizes(from_hidden, {2 * n, n}, 1);
  const std::vector<Tensor> gate = split_with_sizes(x[0] + y[0], {n, n}, 1);  // reset, update
  const Tensor candidate = tanh(gated_add(y[1], gate[0], x[1]));
  return gated_add(h - candidate, gate[1], candidate);
}

// from_hidden has the input's side in it already, but for a GRU.
RecurrentState next_state(Recurrence kind, const Tensor& from_input, const Tensor& from_hidden,
                          const RecurrentState& s, const Tensor& projection) {
  switch (kind) {
    case Recurrence::kTanh:
      return {tanh(from_hidden), Tensor()};
    case Recurrence::kRelu:
      return {relu(from_hidden), Tensor()};
    case Recurrence::kLstm:
      return lstm_step(from_hidden, s, projection);
    case Recurrence::kGru:
      return {gru_step(from_input, from_hidden, s.h), Tensor()};
  }
  return {};
}

RecurrentState rows_of(const RecurrentState& s, int64_t start, int64_t n) {
  return {narrow(s.h, 0, start, n), s.c.defined() ? narrow(s.c, 0, start, n) : Tensor()};
}

RecurrentState join(const RecurrentState& a, const RecurrentState& b) {
  return {cat({a.h, b.h}), a.c.defined() ? cat({a.c, b.c}) : Tensor()};
}

// The state of the sequences that are running. Forward some end, from the last; backward some
// begin.
class RunningState {
 public:
  RunningState(const RecurrentState& first, int64_t n) : first_(first), now_(first) {
    if (n < count()) now_ = rows_of(first, 0, n);
  }

  // That of n sequences.
  const RecurrentState& resize(int64_t n) {
    const int64_t before = count();
    if (n < before) {
      const RecurrentState over = rows_of(now_, n, before - n);
      ended_ = ended_.h.defined() ? join(over, ended_) : over;
      now_ = rows_of(now_, 0, n);
    } else if (n > before) {
      now_ = join(now_, rows_of(first_, before, n - before));
    }
    return now_;
  }
  const Tensor& advance(const RecurrentState& next) {
    now_ = next;
    return now_.h;
  }
  RecurrentState last() const { return ended_.h.defined() ? join(now_, ended_) : now_; }

 private:
  int64_t count() const { return now_.h.size(0); }

  const RecurrentState first_;
  RecurrentState now_, ended_;
};

// The gradients of a sum are one tensor: where both are returned, who writes to one would write to
// the other. So that of b is a copy.
Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return a + record("CloneBackward0", b.detach(), {b},
                    [](BackwardCall& call) { call.results[0] = clone(call.grad()); });
}

// What is added to the state's product where that has a bias of its own: a GRU's, whose input stays
// apart; and of an input of another dtype its part in the state's, as PyTorch's cells do.
Tensor hidden_addend(bool is_gru, const Tensor& from_input, const RecurrentWeights& w) {
  const Tensor& bias = w.hidden_bias;
  if (is_gru) return expand(bias.defined() ? bias : new_zeros(w.hidden, {1}), from_input.sizes());
  const Tensor part = to_dtype(from_input, w.hidden.dtype());
  return bias.defined() ? part + bias : part;
}

// What a region of autocast makes of a step's products; the rest is promoted.
Tensor cast_step(bool is_gru, const Tensor& from_input, const Tensor& h,
                 const RecurrentWeights& w) {
  const Tensor product = autocast::linear(h, w.hidden, w.hidden_bias);
  return is_gru ? product : from_input + product;
}

}  // namespace

RecurrentRun run_recurrent(Recurrence kind, const Tensor& rows, IntList batch_sizes,
                           const RecurrentState& first, const RecurrentWeights& w, bool reverse) {
  const bool has_gates = gates_of(kind) > 1;
  if (has_gates) check_output_dtype(rows.dtype());
  if (is_autocasting()) return run_by_steps(kind, rows, batch_sizes, first, w, reverse);
  const RecurrentRun run = run_at_once(kind, rows, batch_sizes, first, w, reverse);
  return run.rows.defined() ? run : run_by_steps(kind, rows, batch_sizes, first, w, reverse);
}

RecurrentRun run_by_steps(Recurrence kind, const Tensor& rows, IntList batch_sizes,
                          const RecurrentState& first, const RecurrentWeights& w, bool reverse) {
  const bool is_gru = kind == Recurrence::kGru;
  const bool casts = is_autocasting();
  const bool shares_bias = !is_gru && !casts && rows.dtype() == first.h.dtype();
  const Tensor bias = shares_bias ? sum_of(w.input_bias, w.hidden_bias) : w.input_bias;
  const Tensor from_input = autocast::linear(rows, w.input, bias);
  std::optional<HiddenSide> hidden;
  if (!casts) {
    const Tensor addend = shares_bias ? from_input : hidden_addend(is_gru, from_input, w);
    hidden.emplace(addend, w.hidden, batch_sizes);
  }
  const std::vector<Tensor> inputs = split_with_sizes(from_input, batch_sizes, 0);
  const int64_t steps = batch_sizes.size();
  std::vector<Tensor> outputs(static_cast<size_t>(steps));
  RunningState running(first, reverse ? batch_sizes[steps - 1] : batch_sizes[0]);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = reverse ? steps - 1 - i : i;
    const RecurrentState& s = running.resize(batch_sizes[t]);
    const Tensor from_hidden = casts ? cast_step(is_gru, inputs[t], s.h, w) : hidden->step(t, s.h);
    outputs[t] = running.advance(next_state(kind, inputs[t], from_hidden, s, w.projection));
  }
  return {cat(outputs), running.last()};
}

}  // namespace dt
