// The kernels of one instruction set, by the op's name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/abi.h"

struct KernelTable : dt_registry {
  std::string isa;
  std::map<std::string, dt_kernel*> kernel;

  KernelTable(const char* name, void (*fill)(dt_registry*)) : isa(name) {
    add = [](dt_registry* self, const char* op, dt_kernel* k, dt_workspace*) {
      static_cast<KernelTable*>(self)->kernel[op] = k;
    };
    fill(this);
  }

  int32_t run(const dt_stream& stream, const dt_call& call) const {
    return kernel.at(call.op)(&stream, &call);
  }
};

// Those that this processor can run.
inline std::vector<KernelTable> kernel_tables() {
  std::vector<KernelTable> tables = {{"v2", dt_cpu_v2}};
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool v4 = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (v3) tables.emplace_back("v3", dt_cpu_v3);
  if (v4) tables.emplace_back("v4", dt_cpu_v4);
  return tables;
}
