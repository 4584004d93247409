// Functions of the user's, recorded with a backward of the user's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tensor/callbacks.h"

namespace dt {

// Gives `outputs`, computed from `inputs` without recording, a node that calls `backward` with the
// gradients of the outputs and the tensors in `saved` (inputs and outputs among them, or others).
// Returns the outputs as part of the graph. Gradients that carry no graph although something they
// were computed from does cannot be differentiated again: that is an error, not a zero. `dirty` are
// inputs that were written and are outputs: they get the node as their history.
std::vector<Tensor> custom_function(const std::optional<std::string>& name, TensorList inputs,
                                    TensorList outputs, TensorList saved, CustomBackward backward,
                                    TensorList dirty);

}  // namespace dt
