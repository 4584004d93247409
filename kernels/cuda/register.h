// The files of kernels/cuda hand in their kernels through one of these functions each; table.cpp
// calls them all. Everything else in a file lives in an anonymous namespace.
#pragma once

#include "kernels/abi.h"

namespace dt::cuda {

void add_kernels(dt_registry* registry);  // table.gen.cpp

static inline void add(dt_registry* registry, const char* op, dt_kernel* kernel,
                       dt_workspace* workspace = nullptr) {
  registry->add(registry, op, kernel, workspace);
}

// A kernel that needs scratch memory is often one function: with `bytes` it only says how much,
// without it runs. Both uses see the same plan that way. These are the table's two entries for such
// a function.
using PlannedKernel = int32_t(const dt_stream* stream, const dt_call* call, int64_t* bytes);

template <PlannedKernel* kKernel>
int32_t run_kernel(const dt_stream* stream, const dt_call* call) {
  return kKernel(stream, call, nullptr);
}

template <PlannedKernel* kKernel>
int64_t workspace_of(const dt_stream* stream, const dt_call* call) {
  int64_t bytes = 0;
  kKernel(stream, call, &bytes);
  return bytes;
}

}  // namespace dt::cuda
