// Of long rows of which little is wanted, or the middle: selection by a sample (row_sample.cu).
#pragma once

#include "kernels/cuda/row_sort.cuh"

namespace dt::cuda {

// Whether a block can list what a sample says may be wanted of a row: of floats of up to
// 32 bits, and where there is code for clusters.
bool can_select_by_sample(const dt_stream* stream, const RowSort& sort);
// Writes the first elements of each sorted row, or a statistic of it.
int32_t select_by_sample(const dt_stream* stream, const RowSort& sort);

}  // namespace dt::cuda
