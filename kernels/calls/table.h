// How a kernel that takes its call by name stands in a backend's table.
#pragma once

#include "kernels/abi.h"

namespace dt::calls {

// Is in read_call.h.
template <class Call>
Call read_call(const dt_call* call);

template <class Call, int32_t (*kKernel)(const dt_stream*, const Call&)>
int32_t run(const dt_stream* stream, const dt_call* call) {
  return kKernel(stream, read_call<Call>(call));
}

template <class Call, int64_t (*kWorkspace)(const dt_stream*, const Call&)>
int64_t workspace(const dt_stream* stream, const dt_call* call) {
  return kWorkspace(stream, read_call<Call>(call));
}

template <dt_kernel* kKernel, dt_workspace* kWorkspace = nullptr>
void add(dt_registry* registry, const char* op) {
  registry->add(registry, op, kKernel, kWorkspace);
}

}  // namespace dt::calls

// They hand in all kernels of a backend (table.gen.cpp).
namespace dt::cpu {
void add_kernels(dt_registry* registry);
}
namespace dt::cuda {
void add_kernels(dt_registry* registry);
}
