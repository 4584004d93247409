// The safetensors format (https://huggingface.co/docs/safetensors): an 8-byte little-endian length,
// a JSON header that gives each tensor's dtype, shape and byte range, then the bytes. Files are
// hostile: everything is checked first.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/tensor/tensor.h"

namespace dt {

// Writes the tensors under their names. The file is whole at every moment: it is written beside its
// place, flushed to disk, then renamed over what was there.
void save_safetensors(const std::string& path, const std::vector<std::string>& names,
                      TensorList tensors);

// All tensors of the file, in the order of their names in the header.
std::tuple<std::vector<std::string>, std::vector<Tensor>> load_safetensors(const std::string& path);

// The same from memory.
std::tuple<std::vector<std::string>, std::vector<Tensor>> load_safetensors_bytes(Bytes data);

}  // namespace dt
