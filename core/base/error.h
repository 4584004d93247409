// Errors are exceptions inside the library and a code with a message outside of it.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "core/base/text.h"

namespace dt {

// What Python raises for PyTorch. The numbers equal the public enum `dt_status`.
enum class Code : int32_t {
  kOk = 0,
  kTypeError = 1,
  kValueError = 2,
  kIndexError = 3,
  kRuntimeError = 4,
  kNotImplemented = 5,
  kOutOfMemory = 6,
  kHandle = 7,      // NULL, stale, released or wrong-kind handle
  kIo = 8,          // a file cannot be read or written, or lies
  kCallback = 9,    // user code reported an error
  kCancelled = 10,  // a progress callback asked to stop
  kInternal = 11,
  kLinAlg = 12,  // a matrix is singular or not positive-definite, or an algorithm did not converge
  kGradcheck = 13,  // a gradient is not what finite differences say
  kAssertion = 14,  // what PyTorch asserts of its arguments does not hold
};

class Error : public std::exception {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  Code code() const { return code_; }

 private:
  Code code_;
  std::string message_;
};

[[noreturn]] void throw_error(Code code, const Word* words, size_t n);

template <class... Parts>
[[noreturn]] __attribute__((cold, noinline)) void fail_with(Code code, Parts... parts) {
  const Word words[] = {word(parts)...};
  throw_error(code, words, sizeof...(parts));
}

template <class... Parts>
[[noreturn]] __attribute__((always_inline)) inline void fail(Code code, const Parts&... parts) {
  fail_with<Passed<Parts>...>(code, parts...);
}

}  // namespace dt

// DT_CHECK(x.ndim() == 2, kRuntimeError, "mm: mat1 must be a matrix, got ", x.ndim(), "D");
#define DT_CHECK(condition, code, ...)                                                \
  do {                                                                                \
    if (__builtin_expect(!(condition), 0)) ::dt::fail(::dt::Code::code, __VA_ARGS__); \
  } while (0)
