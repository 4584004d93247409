// text(1, " and ", {2, 3}) joins values into a string: the words of error messages.
#pragma once

#include <cstddef>
#include <cstdint>
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

// A value of a text, and how it is written.
struct Word {
  const void* value;
  void (*append_to)(std::string& s, const void* value);
};

std::string join(const Word* words, size_t n);

template <class T>
Word word(const T& value) {
  return {&value, [](std::string& s, const void* v) { append(s, *static_cast<const T*>(v)); }};
}

// Texts are many and rarely wanted, so there is one function for all whose values are alike: a
// literal of any length is its address, an integer has 64 bits.
template <class T>
struct PassedAs {
  using type = std::conditional_t<std::is_scalar_v<T>, T, const T&>;
};
template <size_t N>
struct PassedAs<char[N]> {
  using type = const char*;
};
template <>
struct PassedAs<int> {
  using type = int64_t;
};
template <class T>
using Passed = typename PassedAs<T>::type;

template <class... Parts>
__attribute__((noinline)) std::string text_of(Parts... parts) {
  const Word words[] = {word(parts)...};
  return join(words, sizeof...(parts));
}

template <class... Parts>
inline std::string text(const Parts&... parts) {
  return text_of<Passed<Parts>...>(parts...);
}

}  // namespace dt
