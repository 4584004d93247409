// Products of blocks of floats that were bfloat16, or may be rounded to it, on tiles: as
// multiply_block of gemm.h, with panels of their own, which fit where panel_elements(max(k,
// kBrainPanelRows), n) floats do.
#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/cpu_flags.h"

namespace dt::cpu {

constexpr int64_t kBrainPanelRows = 16;

// Whether the processor has tiles for this dtype.
inline bool has_brain_tiles(const dt_stream* stream, int32_t dtype) {
  return dtype == dtype_of<BFloat16> && (stream->flags & DT_FLAG_AMX_BF16) != 0;
}

void multiply_brain_block(const BlockProduct<float>& product);
void pack_brain_panels(float* panels, const float* x, int64_t row, int64_t k, int64_t n);
void pack_brain_transposed(float* panels, const float* x, int64_t row, int64_t k, int64_t n);

}  // namespace dt::cpu
