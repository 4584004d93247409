// Products of blocks of floats that were bfloat16, or may be rounded to it, by the processor's
// instructions for them: as multiply_block of gemm.h, with panels of their own, which fit where
// panel_elements(max(k, kBrainPanelRows), n) floats do.
#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/cpu_flags.h"

namespace dt::cpu {

constexpr int64_t kBrainPanelRows = 16;

enum class BrainUnit { kNone, kVectors, kTiles };

// What the processor has for this dtype.
inline BrainUnit brain_unit(const dt_stream* stream, int32_t dtype) {
  if (dtype != dtype_of<BFloat16>) return BrainUnit::kNone;
  if ((stream->flags & DT_FLAG_AMX_BF16) != 0) return BrainUnit::kTiles;
  return (stream->flags & DT_FLAG_AVX512_BF16) != 0 ? BrainUnit::kVectors : BrainUnit::kNone;
}

// Panels are the same for both units.
void multiply_brain_block(BrainUnit unit, const BlockProduct<float>& product);
void pack_brain_panels(float* panels, const float* x, int64_t row, int64_t k, int64_t n);
void pack_brain_transposed(float* panels, const float* x, int64_t row, int64_t k, int64_t n);

}  // namespace dt::cpu
