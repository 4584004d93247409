// What gather has from the index operations.
#pragma once

#include "kernels/calls/indexing.gen.h"

namespace dt::cpu {

// gather with checked indices, fast where the index is the same along the last dimension.
int32_t gather_slices(const dt_stream* stream, const calls::Gather& call);

}  // namespace dt::cpu
