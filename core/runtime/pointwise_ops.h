// The numbers of the elementwise ops, after those of kernel_table.h.
#pragma once

#include "core/runtime/kernel_table.h"

namespace dt {

enum : int {
  kBeforePointwise = kFirstPointwiseOp - 1,
#define DT_OP(name, signature) DT_OP_##name,
#include "kernels/pointwise.def"
#undef DT_OP
  kOpCount
};

}  // namespace dt
