// A clock for what takes less than a microsecond: the counter that processors have for it is read
// in half the time that the system's clock takes, since nobody converts it. Whoever reads it
// converts later, many counts at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace dt {

// In a unit of its own. Its rate is constant and the same on all cores of today's processors; times
// that were taken on two cores of an old one need not fit together.
inline int64_t read_counter() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  int64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// A moment by both clocks. Two of them give the counter's rate.
struct Moment {
  int64_t count, ns;

  // The clock is read between two looks at the counter. If the system ran something else there, the
  // two do not belong together: of a few tries the one with the closest looks is taken.
  static Moment now() {
    Moment best = {};
    int64_t closest = INT64_MAX;
    for (int i = 0; i < 5; ++i) {
      const int64_t before = read_counter();
      const auto time = std::chrono::steady_clock::now().time_since_epoch();
      const int64_t apart = read_counter() - before;
      if (apart >= closest) continue;
      closest = apart;
      best = {before + apart / 2, time / std::chrono::nanoseconds(1)};
    }
    return best;
  }
};

// Nanoseconds after `start`, by a rate that was found between it and `end`.
class CounterScale {
 public:
  CounterScale(const Moment& start, const Moment& end)
      : start_(start.count),
        ns_per_count_(double(end.ns - start.ns) /
                      double(std::max<int64_t>(end.count - start.count, 1))) {}

  int64_t ns(int64_t count) const {
    return static_cast<int64_t>(double(count - start_) * ns_per_count_);
  }

 private:
  int64_t start_;
  double ns_per_count_;
};

}  // namespace dt
