#include "core/ops/recurrent/checks.h"

#include <string>

#include "core/base/error.h"
#include "core/ops/autocast/autocast.h"

namespace dt {

const char* word_of(Recurrence kind) {
  return kind == Recurrence::kLstm ? "LSTM" : kind == Recurrence::kGru ? "GRU" : "RNN";
}

void check_state_pair(TensorList states, const char* function) {
  DT_CHECK(states.size() == 2, kRuntimeError, function, " expects two hidden states");
}

namespace {

// "(3-D, 2-D) tensors", or of one state "3-D tensor".
std::string ndims_of(TensorList states) {
  if (states.size() == 1) return text(states[0].ndim(), "-D tensor");
  return text("(", states[0].ndim(), "-D, ", states[1].ndim(), "-D) tensors");
}

}  // namespace

void check_sequences(Recurrence kind, const Tensor& input, TensorList states, bool batch_first) {
  const int n = input.ndim();
  DT_CHECK(n == 2 || n == 3, kValueError, word_of(kind), ": Expected input to be 2D or 3D, got ", n,
           "D ", kind <= Recurrence::kRelu ? "tensor " : "", "instead");
  for (const Tensor& s : states)
    DT_CHECK(s.ndim() == n, kRuntimeError, n == 3 ? "For batched 3-D" : "For unbatched 2-D",
             " input, hx ", kind == Recurrence::kLstm ? "and cx " : "", "should also be ", n,
             "-D but got ", ndims_of(states));
  DT_CHECK(input.sizes()[batch_first && n == 3 ? 1 : 0] > 0, kRuntimeError,
           "Expected sequence length to be larger than 0 in RNN");
}

void check_packed(const Tensor& data, const Tensor& batch_sizes) {
  DT_CHECK(data.ndim() == 2, kRuntimeError, "input must have 2 dimensions, got ", data.ndim());
  DT_CHECK(
      batch_sizes.ndim() == 1 && batch_sizes.dtype() == kIndexDType && batch_sizes.device() == kCpu,
      kRuntimeError, "batch_sizes must be a 1D CPU int64 tensor");
  DT_CHECK(batch_sizes.numel() > 0, kRuntimeError,
           "Expected sequence length to be larger than 0 in RNN");
}

void check_batch_sizes(const Tensor& data, IntList batch_sizes) {
  DT_CHECK(!batch_sizes.empty(), kRuntimeError, "batch_sizes must not be empty");
  int64_t rows = 0, before = batch_sizes[0];
  for (int64_t n : batch_sizes) {
    DT_CHECK(n >= 0 && n <= before, kRuntimeError,
             "batch_sizes must not be negative and never rise, got ", n, " after ", before);
    // Before they are added up: what is larger could overflow.
    DT_CHECK(n <= data.size(0) - rows, kRuntimeError, "batch_sizes add up to more than the ",
             data.size(0), " rows of data");
    rows += n;
    before = n;
  }
  DT_CHECK(rows == data.size(0), kRuntimeError, "batch_sizes add up to ", rows, ", but data has ",
           data.size(0), " rows");
}

void check_any_sequences(TensorList sequences) {
  DT_CHECK(!sequences.empty(), kRuntimeError, "received an empty list of sequences");
}

void check_padding_side(const std::string& side) {
  DT_CHECK(side == "left" || side == "right", kRuntimeError,
           "Expected padding_side to be one of left or right, but got ", side, ".");
}

void check_not_empty(const Tensor& input) {
  DT_CHECK(input.numel() > 0, kRuntimeError, "Cannot pack empty tensors.");
}

void check_lengths(const Tensor& lengths) {
  DT_CHECK(lengths.ndim() == 1 && lengths.dtype() == kIndexDType && lengths.device() == kCpu,
           kRuntimeError, "'lengths' argument should be a 1D CPU int64 tensor, but got ",
           lengths.ndim(), "D ", lengths.device(), " ", type_word(lengths.dtype()), " tensor");
}

void check_padded_lengths(IntList lengths, int64_t batch, int64_t steps) {
  DT_CHECK(lengths.size() == batch, kRuntimeError,
           "Expected `len(lengths)` to be equal to batch_size, but got ", lengths.size(),
           " (batch_size=", batch, ")");
  for (const int64_t n : lengths)
    DT_CHECK(n <= steps, kRuntimeError, "Length of all samples has to be at most the ", steps,
             " time steps of the input, but found an element in 'lengths' that is ", n);
}

void check_falling_lengths(IntList lengths) {
  DT_CHECK(lengths.back() > 0, kRuntimeError,
           "Length of all samples has to be greater than 0, but found an element in 'lengths' that "
           "is <= 0");
  for (int64_t i = 1; i < lengths.size(); ++i)
    DT_CHECK(
        lengths[i] <= lengths[i - 1], kRuntimeError,
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
        "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep "
        "this requirement if you do not need ONNX exportability.");
}

void check_total_length(int64_t total, int64_t longest, int64_t batch) {
  DT_CHECK(total >= longest, kValueError,
           "Expected total_length to be at least the length of the longest sequence in input, but "
           "got total_length=",
           total, " and max sequence length being ", longest);
  // Before it is multiplied.
  DT_CHECK(batch == 0 || total <= INT64_MAX / batch, kRuntimeError,
           "total_length is too large, got ", total);
}

void check_unpadded(const Tensor& sequences, const Tensor& lengths) {
  DT_CHECK(lengths.ndim() == 1, kRuntimeError, "lengths must be 1-D, got a ", lengths.ndim(),
           "-D tensor");
  DT_CHECK(lengths.numel() == sequences.size(0), kValueError,
           "Expected `len(lengths)` to be equal to batch_size, but got ", lengths.numel(),
           " (batch_size=", sequences.size(0), ")");
}

void check_layer_count(int64_t layers) {
  DT_CHECK(layers > 0, kRuntimeError, "num_layers must be greater than zero");
  // Before it is multiplied.
  DT_CHECK(layers <= INT32_MAX, kRuntimeError, "num_layers is too large, got ", layers);
}

void check_weight_count(int64_t given, int64_t least, int64_t most) {
  DT_CHECK(given == least || given == most, kRuntimeError, "expected ", least, " weights",
           most == least ? "" : text(", or ", most, " with projections"), ", got ", given);
}

void check_weights(Recurrence kind, const RecurrentWeights& w) {
  DT_CHECK(w.input.ndim() == 2 && w.hidden.ndim() == 2, kRuntimeError,
           "weights must be matrices, got a ", w.input.ndim(), "-D and a ", w.hidden.ndim(),
           "-D tensor");
  const int64_t hidden = w.projection.defined() ? w.projection.size(-1) : w.hidden.size(1);
  const int64_t rows = gates_of(kind) * hidden, of_input = w.input.size(0);
  const bool input_fits = of_input == rows;
  DT_CHECK(input_fits && w.hidden.size(0) == rows, kRuntimeError,
           input_fits ? "weight_hh" : "weight_ih", " first dim must be ", gates_of(kind),
           " * hidden_size = ", rows, ", but got ", input_fits ? w.hidden.size(0) : of_input);
}

void check_features(const Tensor& rows, const Tensor& weight) {
  const std::string given = text("torch.", rows.dtype()), wanted = text("torch.", weight.dtype());
  DT_CHECK(given == wanted || is_autocasting(), kValueError, "RNN input dtype (", given,
           ") does not match weight dtype (", wanted, "). Convert input: input.to(", wanted,
           "), or convert model: model.to(", given, ")");
  DT_CHECK(rows.size(-1) == weight.size(1), kRuntimeError,
           "input.size(-1) must be equal to input_size. Expected ", weight.size(1), ", got ",
           rows.size(-1));
}

void check_state(Recurrence kind, int which, const Tensor& state, const Dims& expected) {
  const bool fits = state.sizes() == expected;
  const std::string sizes =
      text("(", expected[0], ", ", expected[1], ", ", expected[2], "), got ", state.sizes());
  DT_CHECK(fits || kind == Recurrence::kLstm, kRuntimeError, "Expected hidden size ", sizes);
  DT_CHECK(fits, kRuntimeError, "Expected hidden[", which, "] size ", sizes);
}

void check_cell(Recurrence kind, const Tensor& input, TensorList states) {
  DT_CHECK(input.ndim() == 1 || input.ndim() == 2, kValueError, word_of(kind),
           "Cell: Expected input to be 1D or 2D, got ", input.ndim(), "D instead");
  for (int64_t i = 0; i < states.size(); ++i)
    DT_CHECK(states[i].ndim() == 1 || states[i].ndim() == 2, kValueError, word_of(kind),
             "Cell: Expected ", kind == Recurrence::kLstm ? text("hx[", i, "]") : "hidden",
             " to be 1D or 2D, got ", states[i].ndim(), "D instead");
}

void check_cell_sizes(const Tensor& input, TensorList states, const Tensor& w_ih,
                      const Tensor& w_hh) {
  DT_CHECK(input.size(1) == w_ih.size(1), kRuntimeError, "input has inconsistent input_size: got ",
           input.size(1), " expected ", w_ih.size(1));
  const int64_t hidden = w_hh.size(1);
  for (int64_t i = 0; i < states.size(); ++i) {
    DT_CHECK(states[i].ndim() > 1 && states[i].size(0) == input.size(0), kRuntimeError,
             "Input batch size ", input.size(0), " doesn't match hidden", i, " batch size ",
             states[i].size(0));
    DT_CHECK(states[i].size(1) == hidden, kRuntimeError, "hidden", i,
             " has inconsistent hidden_size: got ", states[i].size(1), ", expected ", hidden);
  }
}

}  // namespace dt
