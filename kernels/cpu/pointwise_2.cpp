// One share of the elementwise kernels: see pointwise_kernel.h.
#include "kernels/cpu/pointwise_kernel.h"
#include "kernels/functors_2.gen.h"

namespace dt::cpu {

DT_POINTWISE_SHARE(DT_POINTWISE_KERNEL, DT_POINTWISE_SAME)

}  // namespace dt::cpu
