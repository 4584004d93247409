#include "core/ops/conv/window.h"

#include "core/ops/conv/checks.h"

namespace dt {

Dims window_numbers(const char* name, IntList values, int n) {
  check_window_numbers(name, values, n);
  return values.size() == 1 ? Dims(n, values[0]) : Dims(values);
}

IntPair int_pair(const char* name, IntList values) {
  check_pair(name, values);
  return {values[0], values.back()};
}

}  // namespace dt
