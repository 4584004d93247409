// Which calls have to wait for which: those that touch the same memory, unless both only read it.
// Nothing here needs a GPU.
#pragma once

#include <stdint.h>

#include <vector>

namespace dt::cuda {

// Bytes [begin, end) that a call touches.
struct Touched {
  uintptr_t begin, end;
  bool is_written;
};

constexpr Touched kEverything = {0, UINTPTR_MAX, true};

// Calls are numbered in the order in which they are added.
class CallOrder {
 public:
  // Adds a call and returns those that it has to wait for, but none that another of them waits for.
  std::vector<int> add(const std::vector<Touched>& touched);
  // Those that nobody waits for.
  std::vector<int> last() const;
  void clear();

 private:
  struct Touch {
    Touched memory;
    int call;
  };

  // Of each call: which of those before it are done when it is, itself too.
  std::vector<std::vector<bool>> behind_;
  std::vector<bool> is_last_;
  std::vector<Touch> touches_;
};

}  // namespace dt::cuda
