#include "core/runtime/kernel_table.h"

#include <cstring>

namespace dt {
namespace {

const char* const kOpNames[] = {
#define DT_OP(name, signature) #name,
#include "kernels/pointwise.def"
#include "kernels/ops.def"
#undef DT_OP
};

constexpr uint32_t kSignatures[] = {
#define DT_OP(name, signature) signature,
#include "kernels/pointwise.def"
#include "kernels/ops.def"
#undef DT_OP
};

constexpr int kOpCount = static_cast<int>(sizeof(kSignatures) / sizeof(kSignatures[0]));

// Backends mostly add ops in the order of the list, so the search starts behind the last hit.
int find_op(const char* name, int start) {
  for (int i = 0; i < kOpCount; ++i) {
    const int op = (start + i) % kOpCount;
    if (std::strcmp(kOpNames[op], name) == 0) return op;
  }
  return -1;
}

void add_kernel(dt_registry* registry, const char* name, dt_kernel* kernel,
                dt_workspace* workspace) {
  auto* table = static_cast<KernelTable*>(registry);
  const int op = find_op(name, table->next_op);
  if (op < 0) return;
  table->kernel[op] = kernel;
  table->workspace[op] = workspace;
  table->next_op = op + 1;
}

}  // namespace

const char* op_name(int op) {
  return kOpNames[op];
}

uint32_t op_signature(const char* name) {
  const int op = find_op(name, 0);
  return op < 0 ? 0 : kSignatures[op];
}

KernelTable::KernelTable(const char* name)
    : dt_registry{add_kernel}, name(name), kernel(kOpCount), workspace(kOpCount) {}

}  // namespace dt
