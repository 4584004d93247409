// Opens the CUDA plugin as core does. The build says where it is, or nothing if it was not built.
#pragma once

#include <dlfcn.h>

#include <cstdio>

#include "kernels/abi.h"

namespace test {

constexpr int kSkipped = 77;  // what a test returns that cannot run here (tests/CMakeLists.txt)

inline int skip(const char* why) {
  std::printf("skipped: %s\n", why);
  return kSkipped;
}

// Null with the reason in `fault` if there is no plugin.
inline dt_backend_open_function* open_plugin(dt_fault* fault) {
#ifdef DT_CUDA_PLUGIN
  void* plugin = dlopen(DT_CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) std::snprintf(fault->message, sizeof(fault->message), "%s", dlerror());
  return plugin ? reinterpret_cast<dt_backend_open_function*>(dlsym(plugin, "dt_backend_open"))
                : nullptr;
#else
  std::snprintf(fault->message, sizeof(fault->message), "the CUDA plugin was not built");
  return nullptr;
#endif
}

}  // namespace test
