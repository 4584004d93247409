// Tensors as text, as PyTorch prints them.
#pragma once

#include <optional>
#include <string>

#include "core/tensor/tensor.h"

namespace dt {

// torch.set_printoptions, with its defaults.
struct PrintOptions {
  int precision = 4;  // digits behind the point
  int line_width = 80;
  int64_t threshold = 1000;      // more elements are summarised
  int64_t edge_items = 3;        // so many from each end are shown then
  std::optional<bool> sci_mode;  // 1e3 for 1000; absent: where the numbers ask for it
};

void set_print_options(int64_t precision, int64_t threshold, int64_t edge_items, int64_t line_width,
                       std::optional<bool> sci_mode);

std::string to_string(const Tensor& x);

}  // namespace dt
