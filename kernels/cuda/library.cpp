#include "kernels/cuda/library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace dt::cuda {
namespace {

// The folders of a colon-separated list, each with a slash at its end.
std::vector<std::string> folders(const char* list) {
  std::vector<std::string> result;
  std::string folder;
  for (const char* p = list;; ++p) {
    if (*p != '\0' && *p != ':') {
      folder += *p;
      continue;
    }
    if (!folder.empty()) result.push_back(folder + "/");
    folder.clear();
    if (*p == '\0') return result;
  }
}

}  // namespace

Library::Library(std::initializer_list<const char*> names) {
  const char* list = std::getenv("DT_CUDA_LIBRARIES");
  if (list != nullptr && std::strcmp(list, "none") == 0) {
    reason_ = "DT_CUDA_LIBRARIES is none";
    return;
  }
  for (const std::string& folder : folders(list != nullptr ? list : "")) {
    for (const char* name : names) {
      if (open(folder + name)) return;
    }
  }
  for (const char* name : names) {
    if (open(name)) return;
  }
}

// Keeps the first refusal: it is about the name that is wanted most.
bool Library::open(const std::string& path) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* words = dlerror();
    if (reason_.empty()) reason_ = words != nullptr ? words : path + ": cannot be opened";
    return false;
  }
  reason_.clear();
  return true;
}

void* Library::symbol(const char* name) {
  void* address = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
  if (handle_ != nullptr && address == nullptr) {
    reason_ = std::string("the library has no function ") + name;
    handle_ = nullptr;
  }
  return address;
}

void trace(const std::string& line) {
  static const char* const wanted = std::getenv("DT_TRACE");
  if (wanted == nullptr || *wanted == '\0' || std::strcmp(wanted, "0") == 0) return;
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace dt::cuda
