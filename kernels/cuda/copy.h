// The op `copy` for the plugin's own use.
#pragma once

#include "kernels/abi.h"

namespace dt::cuda {

// to = from, for views of the same sizes. Fastest when the dimensions are in the order of `to`'s
// memory and as few as they can be.
int32_t copy_view(const dt_stream* stream, const dt_view& to, const dt_view& from);

}  // namespace dt::cuda
