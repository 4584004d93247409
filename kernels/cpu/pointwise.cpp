// The table's elementwise slots: the kernels themselves are compiled in shares.
#include "kernels/cpu/register.h"

namespace dt::cpu {

void register_pointwise(dt_backend* table) {
  register_pointwise_0(table);
  register_pointwise_1(table);
  register_pointwise_2(table);
  register_copy(table);
}

}  // namespace dt::cpu
