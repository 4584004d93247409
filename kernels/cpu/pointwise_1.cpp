// One share of the elementwise kernels: see pointwise_kernel.h.
#include "kernels/cpu/pointwise_kernel.h"
#include "kernels/cpu/register.h"

namespace dt::cpu {

void register_pointwise_1(dt_registry* registry) {
  add_share<1>(registry);
}

}  // namespace dt::cpu
