// From pointers to small numbers, by open addressing: the engine's table of pending nodes.
#pragma once

#include <cstdint>
#include <vector>

namespace dt {

class PointerMap {
 public:
  // The number stored for `key`; a new key gets `fresh`, and *is_new tells.
  int64_t find_or_insert(const void* key, int64_t fresh, bool* is_new) {
    if ((used_ + 1) * 2 > static_cast<int64_t>(slots_.size())) grow();
    Slot& slot = locate(key);
    *is_new = slot.key == nullptr;
    if (*is_new) {
      slot = {key, fresh};
      ++used_;
    }
    return slot.value;
  }
  // The number stored for `key`, or -1.
  int64_t find(const void* key) {
    if (slots_.empty()) return -1;
    const Slot& slot = locate(key);
    return slot.key ? slot.value : -1;
  }

 private:
  struct Slot {
    const void* key = nullptr;
    int64_t value = 0;
  };

  Slot& locate(const void* key) {
    const uint64_t mask = slots_.size() - 1;
    uint64_t i = (reinterpret_cast<uintptr_t>(key) >> 4) * 0x9e3779b97f4a7c15ull >> 20;
    for (;; ++i) {
      Slot& slot = slots_[i & mask];
      if (!slot.key || slot.key == key) return slot;
    }
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 32 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key) locate(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  int64_t used_ = 0;
};

}  // namespace dt
