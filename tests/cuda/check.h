// The few words of the plugin's tests: CHECK says what failed and goes on, finish gives main's
// result.
#pragma once

#include <cstdio>

namespace test {

inline int failures = 0;

#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) {                                           \
      ++test::failures;                                           \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                             \
  } while (0)

inline int finish() {
  std::printf("%d failures\n", failures);
  return failures != 0;
}

}  // namespace test
