// Makes of a call's spans what its kernel gets. Whoever has this header has the code; the CPU's
// tables have it from kernels/cpu/once, one for all instruction sets.
#pragma once

#include "kernels/calls/table.h"

namespace dt::calls {

template <class Call>
Call read_call(const dt_call* call) {
  return Call(call);
}

}  // namespace dt::calls
