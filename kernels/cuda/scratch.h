// The pieces of a kernel's scratch memory.
#pragma once

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

// Hands out pieces of the workspace; with a null base it only measures.
class Scratch {
 public:
  explicit Scratch(void* base) : base_(static_cast<char*>(base)) {}

  template <class T>
  T* take(int64_t count) {
    char* const piece = base_ ? base_ + used_ : nullptr;
    constexpr int64_t kAlignment = 256;
    used_ += divide_up(count * static_cast<int64_t>(sizeof(T)), kAlignment) * kAlignment;
    return reinterpret_cast<T*>(piece);
  }
  int64_t used() const { return used_; }

 private:
  char* base_;
  int64_t used_ = 0;
};

}  // namespace dt::cuda
