// Memory of the objects that every op makes, tensors and graph nodes: from the cache of
// runtime/allocator.h, but not counted there, since statistics are about tensors' data.
#pragma once

#include <cstddef>

namespace dt {

// Inherit to use it.
class Pooled {
 public:
  static void* operator new(size_t bytes);
  static void operator delete(void* object, size_t bytes) noexcept;
};

}  // namespace dt
