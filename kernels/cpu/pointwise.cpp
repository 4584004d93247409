// The elementwise kernels: they are compiled in shares.
#include "kernels/cpu/register.h"

namespace dt::cpu {

void register_pointwise(dt_registry* registry) {
  register_pointwise_0(registry);
  register_pointwise_1(registry);
  register_pointwise_2(registry);
  register_copy(registry);
}

}  // namespace dt::cpu
