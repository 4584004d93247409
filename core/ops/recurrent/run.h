// One direction of one layer of a recurrent network.
#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

enum class Recurrence { kTanh, kRelu, kLstm, kGru };

// How many blocks of `hidden` rows a weight has.
inline int gates_of(Recurrence kind) {
  return kind == Recurrence::kLstm ? 4 : kind == Recurrence::kGru ? 3 : 1;
}

// As PyTorch's: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr. Biases and the projection may be
// absent.
struct RecurrentWeights {
  Tensor input, hidden, input_bias, hidden_bias, projection;
};

// The hidden state, and the cells of an LSTM.
struct RecurrentState {
  Tensor h, c;
};

struct RecurrentRun {
  Tensor rows;  // the hidden states of all steps
  RecurrentState last;
};

// `rows` are packed: batch_sizes[t] rows for each time step t, which never rise; sequences that end
// early are the last ones. The state has batch_sizes[0] rows.
RecurrentRun run_recurrent(Recurrence kind, const Tensor& rows, IntList batch_sizes,
                           const RecurrentState& first, const RecurrentWeights& weights,
                           bool reverse);
// The same, composed of ops for each time step.
RecurrentRun run_by_steps(Recurrence kind, const Tensor& rows, IntList batch_sizes,
                          const RecurrentState& first, const RecurrentWeights& weights,
                          bool reverse);

}  // namespace dt
