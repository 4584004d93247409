// One share of the elementwise kernels: see pointwise_kernel.h.
#include "kernels/cpu/pointwise_kernel.h"

namespace dt::cpu {

DT_POINTWISE_SHARE_1(DT_POINTWISE_KERNEL)

}  // namespace dt::cpu
