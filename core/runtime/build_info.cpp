#include "core/runtime/build_info.h"

#include "core/base/text.h"
#include "core/runtime/backend.h"
#include "core/runtime/thread_pool.h"
#include "kernels/lapack.h"

namespace dt {

std::string build_info() {
#if defined(__clang__)
  const char* compiler = "clang " __clang_version__;
#else
  const char* compiler = "gcc " __VERSION__;
#endif
  return text("dumbtorch ", DT_VERSION, "\ncompiler: ", compiler,
              "\ncpu kernels: x86-64-v2, v3, v4; in use: x86-64-", cpu_kernels().name,
              "\nlapack: ", dt_lapack_words(), "\nthreads: ", num_threads(), "\n");
}

}  // namespace dt
