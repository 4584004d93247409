// What recurrent networks refuse, in PyTorch's words.
#pragma once

#include <string>

#include "core/ops/recurrent/run.h"

namespace dt {

// "RNN", "LSTM", "GRU": what sentences call it.
const char* word_of(Recurrence kind);

// An input that is not packed. `states` are the hidden states and the cells, as far as given.
void check_sequences(Recurrence kind, const Tensor& input, TensorList states, bool batch_first);
void check_packed(const Tensor& data, const Tensor& batch_sizes);
// batch_sizes has no larger number behind a smaller one, and all numbers together are data's rows.
void check_batch_sizes(const Tensor& data, IntList batch_sizes);

// ---- pad_sequence, pack_padded_sequence and their kin. `lengths` has one for each sequence, which
// fall where sequences have to be sorted.

void check_any_sequences(TensorList sequences);
void check_padding_side(const std::string& side);
void check_not_empty(const Tensor& input);
void check_lengths(const Tensor& lengths);
void check_padded_lengths(IntList lengths, int64_t batch, int64_t steps);
void check_falling_lengths(IntList lengths);
void check_total_length(int64_t total, int64_t longest, int64_t batch);
void check_unpadded(const Tensor& sequences, const Tensor& lengths);

// ---- weights and states

void check_layer_count(int64_t layers);
// `least` weights are what the layers need, `most` what they need with projections.
void check_weight_count(int64_t given, int64_t least, int64_t most);
// The weights of one direction of one layer fit each other.
void check_weights(Recurrence kind, const RecurrentWeights& weights);
// The input of a layer has as many features as the first weight has columns.
void check_features(const Tensor& rows, const Tensor& weight);
void check_state_pair(TensorList states, const char* function);
// `which` is 0 for the hidden state and 1 for the cells.
void check_state(Recurrence kind, int which, const Tensor& state, const Dims& expected);

void check_cell(Recurrence kind, const Tensor& input, TensorList states);
void check_cell_sizes(const Tensor& input, TensorList states, const Tensor& w_ih,
                      const Tensor& w_hh);

}  // namespace dt
