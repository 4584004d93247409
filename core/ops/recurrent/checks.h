// What recurrent networks refuse, in PyTorch's words.
#pragma once

#include <string>

#include "core/ops/recurrent/run.h"

namespace dt {

// "RNN", "LSTM", "GRU": how sentences call it.
const char* word_of(Recurrence kind);

// Of inputs that are not packed; `states` are the hidden states and the cells, as far as given.
void check_sequences(Recurrence kind, const Tensor& input, TensorList states, bool batch_first);
void check_packed(const Tensor& data, const Tensor& batch_sizes);
// They never rise, and say where each row of the data belongs.
void check_batch_sizes(const Tensor& data, IntList batch_sizes);

// Of sequences that are padded or packed. `lengths` are one for each of a batch of so many time
// steps, or those from the longest to the shortest.
void check_any_sequences(TensorList sequences);
void check_padding_side(const std::string& side);
void check_not_empty(const Tensor& input);
void check_lengths(const Tensor& lengths);
void check_padded_lengths(IntList lengths, int64_t batch, int64_t steps);
void check_falling_lengths(IntList lengths);
void check_total_length(int64_t total, int64_t longest, int64_t batch);
void check_unpadded(const Tensor& sequences, const Tensor& lengths);

// So many weights as layers need: either `least`, or `most` where there are projections.
void check_layer_count(int64_t layers);
void check_weight_count(int64_t given, int64_t least, int64_t most);
// Those of one direction belong together.
void check_weights(Recurrence kind, const RecurrentWeights& weights);
// Of what a layer is applied to, and the first of its weights.
void check_features(const Tensor& rows, const Tensor& weight);
void check_state_pair(TensorList states, const char* function);
// Hidden state 0, or the cells, 1.
void check_state(Recurrence kind, int which, const Tensor& state, const Dims& expected);

void check_cell(Recurrence kind, const Tensor& input, TensorList states);
void check_cell_sizes(const Tensor& input, TensorList states, const Tensor& w_ih,
                      const Tensor& w_hh);

}  // namespace dt
