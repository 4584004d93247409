#include "core/io/json.h"

#include "core/base/error.h"

namespace dt {
namespace {

void append_utf8(std::string& s, uint32_t c) {
  if (c < 0x80) {
    s += static_cast<char>(c);
  } else if (c < 0x800) {
    s += static_cast<char>(0xC0 | c >> 6);
    s += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    s += static_cast<char>(0xE0 | c >> 12);
    s += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    s += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    s += static_cast<char>(0xF0 | c >> 18);
    s += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    s += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    s += static_cast<char>(0x80 | (c & 0x3F));
  }
}

}  // namespace

void JsonReader::fail_here(const char* expected) {
  fail(Code::kIo, "the header is not valid JSON: expected ", expected, " at byte ", at_);
}

char JsonReader::peek() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
  return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonReader::expect(char c) {
  const char name[] = {'\'', c, '\'', '\0'};
  if (peek() != c || at_ >= text_.size()) fail_here(name);
  ++at_;
}

bool JsonReader::accept(char c) {
  if (peek() != c || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

uint32_t JsonReader::hex4() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    if (at_ >= text_.size()) fail_here("four hexadecimal digits");
    const char c = text_[at_];
    value <<= 4;
    if (c >= '0' && c <= '9')
      value += c - '0';
    else if (c >= 'a' && c <= 'f')
      value += c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
      value += c - 'A' + 10;
    else
      fail_here("four hexadecimal digits");
  }
  return value;
}

// The character that the four digits after \u name; two of them where they are a surrogate pair.
uint32_t JsonReader::unicode_escape() {
  const uint32_t code = hex4();
  if (code < 0xD800 || code >= 0xE000) return code;
  if (code >= 0xDC00) fail_here("the first half of a surrogate pair");
  if (text_.substr(at_, 2) != "\\u") fail_here("the second half of a surrogate pair");
  at_ += 2;
  const uint32_t low = hex4();
  if (low < 0xDC00 || low > 0xDFFF) fail_here("the second half of a surrogate pair");
  return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

// What stands for the character after a backslash.
uint32_t JsonReader::escape() {
  const char c = at_ < text_.size() ? text_[at_++] : '\0';
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return static_cast<uint32_t>(c);
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'u':
      return unicode_escape();
    default:
      fail_here("an escape");
  }
}

std::string JsonReader::string() {
  expect('"');
  std::string s;
  for (;;) {
    if (at_ >= text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20)
      fail_here("the end of a string");
    const char c = text_[at_++];
    if (c == '"') return s;
    if (c == '\\')
      append_utf8(s, escape());
    else
      s += c;
  }
}

int64_t JsonReader::integer() {
  if (peek() < '0' || peek() > '9') fail_here("a number");
  int64_t value = 0;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
    const bool overflow = __builtin_mul_overflow(value, 10, &value) ||
                          __builtin_add_overflow(value, text_[at_] - '0', &value);
    if (overflow) fail_here("a number below 2^63");
    ++at_;
  }
  return value;
}

void JsonReader::end() {
  if (peek() != '\0' || at_ < text_.size()) fail_here("nothing more");
}

bool is_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto lead = static_cast<unsigned char>(s[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || i + more > s.size()) return false;
    uint32_t code = lead & (0x3F >> more);
    for (int k = 0; k < more; ++k) {
      const auto next = static_cast<unsigned char>(s[i++]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3F);
    }
    const uint32_t least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
    if (code < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  }
  return true;
}

std::string json_quote(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace dt
