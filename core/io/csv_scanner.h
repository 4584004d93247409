// Walks through the fields of a table in text.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dt {

class CsvScanner {
 public:
  CsvScanner(const char* at, const char* end, char delimiter)
      : at_(at), end_(end), delimiter_(delimiter) {}

  const char* at() const { return at_; }
  bool done() const { return at_ == end_; }

  // Goes to the next field of the line, or behind the line. False if something else stands here.
  bool next_field() {
    if (at_ == end_ || *at_ != delimiter_) return false;
    ++at_;
    return true;
  }
  bool next_line() {
    if (at_ == end_) return true;
    if (*at_ == '\r') ++at_;
    if (at_ == end_ || *at_ != '\n') return false;
    ++at_;
    return true;
  }
  void skip_empty_lines() {
    while (at_ != end_ && (*at_ == '\n' || (*at_ == '\r' && at_ + 1 != end_ && at_[1] == '\n')))
      ++at_;
  }

  // A number with nothing else in its field. False, and nothing is read, if the field is other.
  template <class T>
  bool number(T* value);

  // The field's text, without its quotes. False if quotes are wrong.
  bool text(std::string* out);
  bool skip();

 private:
  bool plain(char c) const { return c != delimiter_ && c != '\n' && c != '\r'; }
  const char* skip_spaces(const char* p) const {
    while (p != end_ && *p == ' ' && delimiter_ != ' ') ++p;
    return p;
  }

  const char* at_;
  const char* end_;
  char delimiter_;
};

// The library knows no +.
inline const char* skip_plus(const char* p, const char* end) {
  return p != end && *p == '+' && p + 1 != end && p[1] != '-' ? p + 1 : p;
}

// The number at `p`, and what follows it; null if there is none. Digits are added up as an integer;
// where that, times or divided by a power of ten that a double holds, is exact, so is the
// quotient's rounding (Clinger 1990). What is longer goes to the standard library.
inline const char* scan_number(const char* p, const char* end, double* value) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int kMaxDigits = 18;  // of any 64-bit integer
  p = skip_plus(p, end);
  const char* const start = p;
  const bool negative = p != end && *p == '-';
  p += negative;
  uint64_t digits = 0;
  const char* const first = p;
  while (p != end && static_cast<unsigned char>(*p - '0') < 10) digits = digits * 10 + (*p++ - '0');
  int64_t count = p - first, exponent = 0;
  if (p != end && *p == '.') {
    const char* const fraction = ++p;
    while (p != end && static_cast<unsigned char>(*p - '0') < 10)
      digits = digits * 10 + (*p++ - '0');
    exponent = fraction - p;
    count -= exponent;
  }
  const bool simple = count > 0 && count <= kMaxDigits && digits <= uint64_t{1} << 53 &&
                      exponent >= -22 && (p == end || (*p != 'e' && *p != 'E'));
  if (simple) {
    const double whole = static_cast<double>(digits);
    *value = (negative ? -whole : whole) / kPowers[-exponent];
    return p;
  }
  const auto result = std::from_chars(start, end, *value);
  if (result.ec == std::errc::invalid_argument) return nullptr;
  if (result.ec ==
      std::errc::result_out_of_range) {  // 0 or infinity, which the library leaves open
    long double wide = 0;
    if (std::from_chars(start, result.ptr, wide).ec != std::errc()) return nullptr;
    *value = static_cast<double>(wide);
  }
  return result.ptr;
}

inline const char* scan_number(const char* p, const char* end, float* value) {
  double wide;
  p = scan_number(p, end, &wide);
  if (p) *value = static_cast<float>(wide);
  return p;
}

inline const char* scan_number(const char* p, const char* end, int64_t* value) {
  p = skip_plus(p, end);
  const auto result = std::from_chars(p, end, *value);
  return result.ec == std::errc() ? result.ptr : nullptr;
}

template <class T>
bool CsvScanner::number(T* value) {
  const char* p = scan_number(skip_spaces(at_), end_, value);
  if (!p) return false;
  p = skip_spaces(p);
  if (p != end_ && plain(*p)) return false;
  at_ = p;
  return true;
}

inline bool CsvScanner::text(std::string* out) {
  out->clear();
  if (at_ == end_ || *at_ != '"') {
    const char* const start = at_;
    if (!skip()) return false;
    out->assign(start, at_);
    return true;
  }
  for (const char* p = at_ + 1;; ++p) {
    const auto* quote =
        static_cast<const char*>(std::memchr(p, '"', static_cast<size_t>(end_ - p)));
    if (!quote) return false;
    out->append(p, quote);
    p = quote + 1;
    if (p == end_ || *p != '"') {
      at_ = p;
      return p == end_ || !plain(*p);
    }
    *out += '"';
  }
}

inline bool CsvScanner::skip() {
  if (at_ != end_ && *at_ == '"') {
    std::string ignored;
    return text(&ignored);
  }
  while (at_ != end_ && plain(*at_)) {
    if (*at_++ == '"') return false;
  }
  return true;
}

}  // namespace dt
