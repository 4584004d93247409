// Division of whole numbers that come from outside: what has no result is an error, not a signal.
#pragma once

#include "core/base/error.h"

namespace dt {

inline int64_t modulo(int64_t a, int64_t b) {
  DT_CHECK(b != 0, kValueError, "integer modulo by zero");
  return b == -1 ? 0 : a % b;
}

// Of numbers that are not negative.
inline int64_t floor_quotient(int64_t a, int64_t b) {
  DT_CHECK(b > 0, kValueError, "integer division or modulo by zero");
  return a / b;
}

}  // namespace dt
