#include "kernels/cpu/once/lapack.h"

#include <dlfcn.h>

#include <cstdio>  // asprintf
#include <cstdlib>
#include <cstring>

#include "kernels/lapack.h"

namespace dt::cpu {
namespace {

template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// With one thread of its own, unless somebody else uses it: ours share a batch out among them, and
// results are to be the same for any number of threads.
void keep_to_one_thread(void* library) {
  void (*set_threads)(int) = nullptr;
  if (find(library, "openblas_set_num_threads", &set_threads)) set_threads(1);
}

LapackLibrary none(const char* reason) {
  LapackLibrary y = {};
  char* words = nullptr;
  y.reason = asprintf(&words, "none (%s)", reason) < 0 ? "none" : words;
  return y;
}

LapackLibrary open() {
  LapackLibrary y = {};
  const char* wanted = std::getenv("DT_LAPACK");
  const char* name = wanted != nullptr && *wanted != '\0' ? wanted : "libopenblas.so.0";
  if (std::strcmp(name, "none") == 0) return none("DT_LAPACK is none");
  void* const others = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void* const library = others != nullptr ? others : dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return none(dlerror());
  if (!find(library, "ssyevd_", &y.f32.syevd) || !find(library, "dsyevd_", &y.f64.syevd) ||
      !find(library, "sgesdd_", &y.f32.gesdd) || !find(library, "dgesdd_", &y.f64.gesdd))
    return none(dlerror());
  if (others == nullptr) keep_to_one_thread(library);
  y.name = strdup(name);  // the environment may change
  return y;
}

}  // namespace

const LapackLibrary& lapack_library() {
  static const LapackLibrary library = open();
  return library;
}

}  // namespace dt::cpu

const char* dt_lapack_words() {
  const dt::cpu::LapackLibrary& library = dt::cpu::lapack_library();
  return library.name != nullptr ? library.name : library.reason;
}
