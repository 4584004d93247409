#pragma once

#include "kernels/abi.h"

namespace dt::cuda {

// Whether sums may be added up in any order, from run to run (dt_set_deterministic): atomic
// additions then serve.
inline bool may_vary(const dt_stream* stream) {
  return (stream->flags & DT_FLAG_MAY_VARY) != 0;
}

}  // namespace dt::cuda
