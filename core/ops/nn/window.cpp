#include "core/ops/nn/window.h"

#include "core/ops/nn/checks.h"

namespace dt {

IntPair int_pair(const char* name, IntList values) {
  check_int_pair(name, values);
  return {values[0], values.back()};
}

}  // namespace dt
