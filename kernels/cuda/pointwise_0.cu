// One share of the elementwise kernels: see pointwise_kernel.cuh.
#include "kernels/cuda/pointwise_kernel.cuh"

namespace dt::cuda {

DT_POINTWISE_SHARE_0(DT_POINTWISE_KERNEL)

}  // namespace dt::cuda
