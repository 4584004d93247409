// PyTorch's checkpoints: zip files with a pickle, data.pkl, and a record for each storage. What a
// pickle says is never executed: pickle.h reads the part of the language that state dicts need.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/tensor/callbacks.h"
#include "core/tensor/tensor.h"

namespace dt {

// Writes a state dict that torch.load(weights_only=True) reads. Tensors that share a storage still
// do when they are read; a storage is written whole.
void save_checkpoint(const std::string& path, const std::vector<std::string>& names,
                     TensorList tensors, const Progress& progress = nullptr);

// The tensors of a checkpoint, or those in `only`. A tensor in a container within another one is
// called after both: "model.0.weight".
std::tuple<std::vector<std::string>, std::vector<Tensor>> load_checkpoint(
    const std::string& path, const std::optional<std::vector<std::string>>& only = std::nullopt,
    const Progress& progress = nullptr);

std::vector<std::string> checkpoint_names(const std::string& path);

}  // namespace dt
