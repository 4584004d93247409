// One share of the elementwise kernels: see pointwise_kernel.cuh.
#include "kernels/cuda/pointwise_kernel.cuh"
#include "kernels/functors_1.gen.h"

namespace dt::cuda {

DT_POINTWISE_SHARE(DT_POINTWISE_KERNEL, DT_POINTWISE_SAME)

}  // namespace dt::cuda
