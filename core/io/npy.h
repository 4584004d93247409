// NumPy's files: .npy (numpy.lib.format), a header that is a literal of Python and the elements;
// and .npz, a zip file of them. Files are hostile: everything is checked first.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

void save_npy(const std::string& path, const Tensor& x);
Tensor load_npy(const std::string& path);

void save_npz(const std::string& path, const std::vector<std::string>& names, TensorList tensors);
// All arrays, or those in `only`.
std::tuple<std::vector<std::string>, std::vector<Tensor>> load_npz(
    const std::string& path, const std::optional<std::vector<std::string>>& only = std::nullopt);

}  // namespace dt
