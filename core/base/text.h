// text(1, " and ", {2, 3}) joins values into a string: the words of error messages.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace dt {

inline void append(std::string& s, std::string_view v) {
  s += v;
}
inline void append(std::string& s, char v) {
  s += v;
}

// A template also for bool: a plain overload would take string literals, whose pointers convert to
// bool.
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
void append(std::string& s, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    s += v ? "True" : "False";
  } else {
    s += std::to_string(v);
  }
}

inline void append(std::string& s, double v) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", v);
  s += buffer;
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string s;
  (append(s, parts), ...);
  return s;
}

}  // namespace dt
