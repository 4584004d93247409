// What lookups in tables share.
#pragma once

#include <optional>

#include "core/tensor/tensor.h"

namespace dt {

// Scales the rows that are looked up down to max_norm, in the table itself. A row that occurs
// twice is computed twice, from its old value, and written twice with the same numbers.
void limit_norms(const Tensor& weight, const Tensor& rows, double max_norm, double norm_type);
// How often each entry of `rows` occurs in it.
Tensor frequencies(const Tensor& rows, int64_t table_size, DType dtype);
// -1: none. It has been checked.
inline int64_t padding_row(std::optional<int64_t> padding_idx, int64_t rows) {
  if (!padding_idx) return -1;
  return *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
}

}  // namespace dt
