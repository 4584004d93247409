// One share of the elementwise kernels: see pointwise_kernel.cuh.
#include "kernels/cuda/pointwise_kernel.cuh"

namespace dt::cuda {

void register_pointwise_1(dt_registry* registry) {
  add_share<1>(registry);
}

}  // namespace dt::cuda
