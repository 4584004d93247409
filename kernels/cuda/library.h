// Shared libraries of NVIDIA's that the plugin can use but does not need. They are opened when an
// op first wants them and never closed; without them the plugin's own kernels serve.
#pragma once

#include <initializer_list>
#include <string>

namespace dt::cuda {

class Library {
 public:
  // Opens the first of `names` that can be opened: each one in the folders of the environment
  // variable DT_CUDA_LIBRARIES (separated by colons) and then where the system's loader looks
  // (LD_LIBRARY_PATH, ldconfig). DT_CUDA_LIBRARIES=none opens nothing, to try the own kernels.
  explicit Library(std::initializer_list<const char*> names);

  explicit operator bool() const { return handle_ != nullptr; }
  // Why the library is not usable, in the loader's words.
  const std::string& reason() const { return reason_; }

  // Sets a function pointer. A function that is missing makes the whole library unusable, with the
  // reason.
  template <class Function>
  void find(const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name);
  bool open(const std::string& path);

  void* handle_ = nullptr;
  std::string reason_;
};

// What DT_TRACE=1 shows of the plugin: a line on standard error. Core's log is out of reach here.
void trace(const std::string& line);

}  // namespace dt::cuda
