// In which order the elements of x [N, C, L] are walked. Core and the kernels have to agree on it:
// flags of results lie in that order.
#pragma once

#include "kernels/abi.h"

namespace dt {

// Whether the channels of a position lie closer together than the positions of a channel.
inline bool has_columns(const dt_view& x) {
  return x.sizes[2] == 1 || (x.sizes[1] > 1 && x.strides[1] < x.strides[2]);
}

}  // namespace dt
