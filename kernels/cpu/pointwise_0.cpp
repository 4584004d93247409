// One share of the elementwise kernels: see pointwise_kernel.h.
#include "kernels/cpu/pointwise_kernel.h"
#include "kernels/cpu/register.h"

namespace dt::cpu {

void register_pointwise_0(dt_backend* table) {
  bind_share<0>(table);
}

}  // namespace dt::cpu
