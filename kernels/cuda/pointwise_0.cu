// One share of the elementwise kernels: see pointwise_kernel.cuh.
#include "kernels/cuda/pointwise_kernel.cuh"

namespace dt::cuda {

void register_pointwise_0(dt_registry* registry) {
  add_share<0>(registry);
}

}  // namespace dt::cuda
