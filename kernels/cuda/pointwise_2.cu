// One share of the elementwise kernels: see pointwise_kernel.cuh.
#include "kernels/cuda/pointwise_kernel.cuh"

namespace dt::cuda {

void register_pointwise_2(dt_registry* registry) {
  add_share<2>(registry);
}

}  // namespace dt::cuda
