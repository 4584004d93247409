// What identifies a plan of one of the libraries: numbers that are compared and hashed as a whole.
#pragma once

#include <stdint.h>

#include <array>
#include <cstddef>
#include <initializer_list>

namespace dt::cuda {

struct PlanKey {
  std::array<int64_t, 72> numbers = {};
  size_t count = 0;

  void add(std::initializer_list<int64_t> list) {
    for (const int64_t number : list) numbers[count++] = number;
  }
  bool operator==(const PlanKey& other) const {
    return count == other.count && numbers == other.numbers;
  }
};

struct PlanKeyHash {
  size_t operator()(const PlanKey& key) const {
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < key.count; ++i) {
      hash = (hash ^ static_cast<uint64_t>(key.numbers[i])) * 0xD6E8FEB86659FD93u;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

// The largest power of two up to 256 that divides an address: kernels that load vectors or whole
// tiles want to know it.
inline int64_t alignment(const void* address) {
  const uintptr_t bits = reinterpret_cast<uintptr_t>(address) | 256;
  return static_cast<int64_t>(bits & (~bits + 1));
}

}  // namespace dt::cuda
