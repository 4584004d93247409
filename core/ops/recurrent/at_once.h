// One direction of one layer by kernels that take all time steps at once.
#pragma once

#include "core/ops/recurrent/run.h"

namespace dt {

// Its rows are undefined where the device has no such kernel for these.
RecurrentRun run_at_once(Recurrence kind, const Tensor& rows, IntList batch_sizes,
                         const RecurrentState& first, const RecurrentWeights& weights,
                         bool reverse);

}  // namespace dt
