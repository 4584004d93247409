#include "core/base/error.h"

namespace dt {

void throw_error(Code code, const Word* words, size_t n) {
  throw Error(code, join(words, n));
}

}  // namespace dt
