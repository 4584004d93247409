#include "core/base/text.h"

namespace dt {

std::string join(const Word* words, size_t n) {
  std::string s;
  for (size_t i = 0; i < n; ++i) words[i].append_to(s, words[i].value);
  return s;
}

}  // namespace dt
