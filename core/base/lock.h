// A lock for a few instructions: tensors and slots hold one each, so it is a single byte.
#pragma once

#include <atomic>
#include <thread>

namespace dt {

class SpinLock {
 public:
  void lock() {
    for (int spins = 0; flag_.exchange(true, std::memory_order_acquire);) {
      if (++spins > 64) std::this_thread::yield();
    }
  }
  void unlock() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> flag_{false};
};

}  // namespace dt
