// The kernels of one backend, by op number.
#pragma once

#include <vector>

#include "kernels/abi.h"

namespace dt {

// Every op that has kernels has a number of this library's own, the elementwise ones first;
// backends know ops by name.
const char* op_name(int op);
// The hash of an op's operands and attributes; 0 for a name that is no op.
uint32_t op_signature(const char* name);

// A registry that a backend fills. A null kernel: the backend has none for that op.
struct KernelTable : dt_registry {
  const char* name;
  std::vector<dt_kernel*> kernel;
  std::vector<dt_workspace*> workspace;
  int next_op = 0;  // where the search for a name starts

  explicit KernelTable(const char* name);
};

// The best instruction set of this processor: "v2", "v3" or "v4". DT_CPU_ISA overrides the choice,
// so that one machine can test all three.
const KernelTable& cpu_kernels();

}  // namespace dt
