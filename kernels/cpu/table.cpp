// The one symbol that an instruction set's object exports. Every file of kernels/cpu is compiled
// once per instruction set and linked into one object (see CMakeLists.txt); whatever else is in a
// file is local to that object, so no code of one instruction set can replace another's.
#include "kernels/calls/table.h"

extern "C" void DT_CPU_ENTRY(dt_registry* registry) {
  dt::cpu::add_kernels(registry);
}
