// What gather has from the index operations.
#pragma once

#include "kernels/abi.h"

namespace dt::cpu {

// gather with checked indices, fast where the index is the same along the last dimension.
int32_t gather_slices(const dt_stream* stream, const dt_call* call);

}  // namespace dt::cpu
