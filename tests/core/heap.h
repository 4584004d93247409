// The process's heap, for tests of what the library asks of it: counted, and as large as a test
// says. To be included by one source file of a program, whose operators new and delete it has.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace heap {

inline int64_t allocations = 0;  // so far
inline int64_t left = -1;        // how many more succeed; -1: all

inline void* allocate(std::size_t bytes) {
  ++allocations;
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace heap

void* operator new(std::size_t bytes) {
  return heap::allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return heap::allocate(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
