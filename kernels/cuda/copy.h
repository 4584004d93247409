// The op `copy` for the plugin's own use.
#pragma once

#include "kernels/abi.h"

namespace dt::cuda {

// y = x, for views of the same sizes. Fastest when the dimensions are in the order of y's memory
// and as few as they can be.
int32_t copy_view(const dt_stream* stream, const dt_view& y, const dt_view& x);

// Elements of both axes from which on a walk through tiles in shared memory is worth it.
constexpr int64_t kWorthTiles = 16;

// Whether that goes through tiles in shared memory: elements that are neighbours in x are not in y.
bool is_transpose(const dt_view& y, const dt_view& x);

}  // namespace dt::cuda
