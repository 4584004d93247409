// Every file of kernels/cpu is compiled once per instruction set and linked into one object that
// exports a single symbol (see CMakeLists.txt). Each file hands in its kernels through one of these
// functions; everything else in it lives in an anonymous namespace, so no code
// of one instruction set can replace another's.
#pragma once

#include "kernels/abi.h"

namespace dt::cpu {

void add_kernels(dt_registry* registry);  // table.gen.cpp

static inline void add(dt_registry* registry, const char* op, dt_kernel* kernel,
                       dt_workspace* workspace = nullptr) {
  registry->add(registry, op, kernel, workspace);
}

}  // namespace dt::cpu
