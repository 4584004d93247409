#include "core/ops/conv/window.h"

#include "core/ops/conv/checks.h"

namespace dt {

IntPair int_pair(const char* name, IntList values) {
  check_window_numbers(name, values, 2);
  return {values[0], values.back()};
}

}  // namespace dt
