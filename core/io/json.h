// The JSON that safetensors headers are made of: objects, arrays, strings and whole numbers, and
// nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dt {

// Reads a text from front to back. Every method throws kIo with the position when the text is not
// what is expected.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  // The next character after white space, not consumed; '\0' at the end.
  char peek();
  void expect(char c);
  // Consumes c if it is next.
  bool accept(char c);
  std::string string();
  int64_t integer();  // not negative
  void end();         // nothing but white space may be left

 private:
  [[noreturn]] void fail_here(const char* expected);
  uint32_t hex4();
  uint32_t unicode_escape();
  uint32_t escape();

  std::string_view text_;
  size_t at_ = 0;
};

// Whether s is well-formed UTF-8: no overlong forms, no surrogates.
bool is_utf8(std::string_view s);

// s in quotes, with escapes.
std::string json_quote(std::string_view s);

}  // namespace dt
