// The safetensors format (https://huggingface.co/docs/safetensors): an 8-byte little-endian length,
// a JSON header that gives each tensor's dtype, shape and byte range, then the bytes. Files are
// hostile: everything is checked first.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/bytes.h"
#include "core/tensor/callbacks.h"
#include "core/tensor/tensor.h"

namespace dt {

// Writes the tensors under their names. The file is whole at every moment: it is written beside its
// place, flushed to disk, then renamed over what was there. `progress` is called with the bytes of
// tensors that are written, and in all; if it stops the call, nothing changes.
void save_safetensors(const std::string& path, const std::vector<std::string>& names,
                      TensorList tensors, const Progress& progress = nullptr);

// All tensors of the file, in the order of their names in the header, or those in `only`.
std::tuple<std::vector<std::string>, std::vector<Tensor>> load_safetensors(
    const std::string& path, const std::optional<std::vector<std::string>>& only = std::nullopt,
    const Progress& progress = nullptr);

// What the file has.
std::vector<std::string> safetensors_names(const std::string& path);

// All tensors, from memory.
std::tuple<std::vector<std::string>, std::vector<Tensor>> load_safetensors_bytes(Bytes data);

}  // namespace dt
