// Resampling along lines: what interpolate does where it weighs elements. It is linear, so that
// its gradient is the same sum with the tables of taps transposed, to every order.
#pragma once

#include <optional>

#include "core/tensor/tensor.h"

namespace dt {

// One spatial dimension of the input, and what becomes of it.
struct Resampling {
  int64_t from = 0, to = 0;
  double step = 1;    // the distance of two elements' places
  int64_t reach = 1;  // of the filter, to each side
  bool align_corners = false, antialias = false;
  bool fixed_point = false;  // weights are rounded as PyTorch's for bytes are

  bool changes() const { return from != to || (reach > 1 && !antialias && step != 1); }
};

// x [planes, h, w], where a dimension that is not given stays as it is. Floating.
Tensor resample(const Tensor& x, const std::optional<Resampling>& rows,
                const std::optional<Resampling>& columns);

}  // namespace dt
