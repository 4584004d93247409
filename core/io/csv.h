// Tables as text: CSV (RFC 4180), TSV and the like.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

// The columns as a matrix, their names, and the categories as "column=category", column by column
// in the order of their numbers.
std::tuple<Tensor, std::vector<std::string>, std::vector<std::string>> read_csv(
    const std::string& path, const std::optional<std::vector<std::string>>& columns,
    const std::optional<std::string>& delimiter, bool header,
    const std::optional<std::vector<std::string>>& categories, bool one_hot, DType dtype);

}  // namespace dt
