// The numbers of the elementwise ops, which come before all others.
#pragma once

#include "core/runtime/kernel_table.h"

namespace dt {

enum : int {
#define DT_OP(name, signature) kPointwise_##name,
#include "kernels/pointwise.def"
#undef DT_OP
  kPointwiseOps
};

}  // namespace dt
