// From pointers to small numbers, by open addressing: the engine's table of pending nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace dt {

class PointerMap {
 public:
  PointerMap() = default;
  PointerMap(const PointerMap&) = delete;
  PointerMap& operator=(const PointerMap&) = delete;

  // The number stored for `key`; a new key gets `fresh`, and *is_new tells.
  int64_t find_or_insert(const void* key, int64_t fresh, bool* is_new) {
    if ((used_ + 1) * 2 > capacity_) grow();
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
    const Slot& slot = locate(key);
    return slot.key ? slot.value : -1;
  }

 private:
  struct Slot {
    const void* key = nullptr;
    int64_t value = 0;
  };

  Slot& locate(const void* key) {
    Slot* const slots = this->slots();
    const uint64_t mask = static_cast<uint64_t>(capacity_) - 1;
    uint64_t i = (reinterpret_cast<uintptr_t>(key) >> 4) * 0x9e3779b97f4a7c15ull >> 20;
    for (;; ++i) {
      Slot& slot = slots[i & mask];
      if (!slot.key || slot.key == key) return slot;
    }
  }

  void grow() {
    auto more = std::make_unique<Slot[]>(static_cast<size_t>(capacity_ * 2));
    const Slot* const old = slots();
    const int64_t n = std::exchange(capacity_, capacity_ * 2);
    more_.swap(more);
    for (int64_t i = 0; i < n; ++i) {
      if (old[i].key) locate(old[i].key) = old[i];
    }
  }

  Slot* slots() { return more_ ? more_.get() : first_; }

  static constexpr int64_t kFirst = 16;  // small graphs need no memory of their own

  int64_t capacity_ = kFirst, used_ = 0;
  Slot first_[kFirst];
  std::unique_ptr<Slot[]> more_;  // in their place
};

}  // namespace dt
