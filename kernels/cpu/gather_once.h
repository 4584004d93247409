// What gather and scatter read and write one by one, at indices, no instruction set does faster:
// kernels/cpu/once/gather.cpp is compiled once, for any processor.
#pragma once

#include "kernels/calls/indexing.gen.h"

namespace dt::cpu {

enum class ScatterStep : int32_t { kAssign, kAdd, kMultiply, kLarger, kSmaller };

// y, folded with the elements of a source at an index that has been checked.
struct Scattered {
  const dt_view &y, &source, &index;
  int64_t dim;
};

}  // namespace dt::cpu

extern "C" {
// Whether all index values were right: only then is all of y written.
bool dt_gather_elements(const dt_stream* stream, const dt::calls::Gather& call);
// DT_KERNEL_UNSUPPORTED: narrow floats would be rounded at each step.
int32_t dt_scatter_elements(const dt_stream* stream, dt::cpu::ScatterStep fold,
                            const dt::cpu::Scattered& scattered);
}
