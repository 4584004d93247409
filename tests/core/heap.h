// The process's heap, for tests of what the library asks of it: counted, and as large as a test
// says. To be included by one source file of a program, whose operators new and delete it has.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace heap {

inline int64_t allocations = 0;  // so far
inline int64_t left = -1;        // how many more succeed; -1: all

inline void* try_allocate(std::size_t bytes) noexcept {
  ++allocations;
  if (left == 0) return nullptr;
  if (left > 0) --left;
  return std::malloc(bytes);
}
inline void* allocate(std::size_t bytes) {
  if (void* memory = try_allocate(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace heap

void* operator new(std::size_t bytes) {
  return heap::allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return heap::allocate(bytes);
}
// As sorts ask for the memory that they could do without.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return heap::try_allocate(bytes);
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
