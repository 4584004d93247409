// The one symbol that an instruction set's object exports.
#include "kernels/cpu/register.h"

extern "C" void DT_CPU_ENTRY(dt_registry* registry) {
  using namespace dt::cpu;
  add_kernels(registry);
}
