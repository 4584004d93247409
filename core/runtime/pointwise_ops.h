// The numbers of the elementwise ops. They are a header of their own because they change often.
#pragma once

namespace dt {

enum : int {
#define DT_OP(name, signature) DT_OP_##name,
#include "kernels/pointwise.def"
#undef DT_OP
  kPointwiseOps
};

}  // namespace dt
