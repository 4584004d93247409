// A lock for a few instructions: tensors and slots hold one each, so it is a single byte. What a
// thread of the parent held when a process was forked is open in the child, where that thread is
// not.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace dt {

// Counts the forks that led to this process, from 1 on; and what its threads mark locks with.
extern std::atomic<uint32_t> process_number;
extern std::atomic<uint8_t> process_mark;

class SpinLock {
 public:
  void lock() {
    const uint8_t own = process_mark.load(std::memory_order_relaxed);
    for (int spins = 0;;) {
      uint8_t holder = holder_.load(std::memory_order_relaxed);
      if (holder != own && holder_.compare_exchange_weak(holder, own, std::memory_order_acquire,
                                                         std::memory_order_relaxed))
        return;
      if (++spins > 64) std::this_thread::yield();
    }
  }
  void unlock() { holder_.store(kNobody, std::memory_order_release); }

 private:
  static constexpr uint8_t kNobody = 0;
  std::atomic<uint8_t> holder_{kNobody};
};

}  // namespace dt
