// The part of dumbtorch.hpp that is written by hand and that its functions need: errors, arguments,
// ownership, callbacks. Include dumbtorch.hpp, not this file.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dumbtorch.h"

namespace dumbtorch {

class Tensor;

// What a failing call throws. code() is one of DT_STATUS_...; what() names the function and the
// shapes.
class Error : public std::runtime_error {
 public:
  Error(dt_status code, const std::string& message) : std::runtime_error(message), code_(code) {}
  dt_status code() const { return code_; }

 private:
  dt_status code_;
};

namespace detail {

// An exception that was thrown inside of a callback, while it passes through the C API. A plain
// pointer, since callbacks also run while a thread ends and its other variables are gone.
inline std::exception_ptr*& pending_exception() {
  thread_local std::exception_ptr* pending = nullptr;
  return pending;
}

inline std::exception_ptr take_pending_exception() {
  const std::unique_ptr<std::exception_ptr> taken(std::exchange(pending_exception(), nullptr));
  return taken ? *taken : nullptr;
}

inline void keep_exception() {
  take_pending_exception();
  pending_exception() = new (std::nothrow) std::exception_ptr(std::current_exception());
}

// While a drop runs: what its own calls throw must not take the place of an exception on its way.
class DropScope {
 public:
  DropScope() : before_(std::exchange(pending_exception(), nullptr)) {}
  ~DropScope() {
    take_pending_exception();
    pending_exception() = before_;
  }
  DropScope(const DropScope&) = delete;
  DropScope& operator=(const DropScope&) = delete;

 private:
  std::exception_ptr* const before_;
};

inline void check(dt_status status) {
  if (status == DT_STATUS_OK) return;
  if (status == DT_STATUS_CALLBACK) {
    if (const std::exception_ptr original = take_pending_exception()) {
      std::rethrow_exception(original);
    }
  }
  throw Error(status, dt_error_message());
}

// Runs the body of a callback; an exception becomes a status, and check() throws it again.
template <class Body>
dt_status guarded(Body body) noexcept {
  try {
    body();
    return DT_STATUS_OK;
  } catch (const Error& e) {
    return dt_error_set(e.code(), e.what());
  } catch (const std::exception& e) {
    keep_exception();
    return dt_error_set(DT_STATUS_CALLBACK, e.what());
  } catch (...) {
    keep_exception();
    return dt_error_set(DT_STATUS_CALLBACK, "unknown exception");
  }
}

// A callback's user data: a copy of the function, which the library drops.
template <class Function>
void* box(Function function) {
  return function ? new Function(std::move(function)) : nullptr;
}

template <class Function>
void drop(void* user_data) {
  const DropScope scope;
  delete static_cast<Function*>(user_data);
}

// The object that stands for an absent one, never destroyed: the destructors of static objects call
// the library too. T may be incomplete where this is mentioned.
template <class T>
const T& none() {
  static const T& nothing = *new T;
  return nothing;
}

// Where a list lies; one that is empty also has an address, for without one it would be absent.
template <class T>
const T* address(const std::vector<T>& list) {
  static const T nothing{};
  return list.empty() ? &nothing : list.data();
}

// C reads up to the first NUL: a string that has one inside would become another one.
inline const char* text(const std::string& value) {
  if (value.find('\0') != std::string::npos) {
    throw Error(DT_STATUS_VALUE_ERROR, "embedded null character");
  }
  return value.c_str();
}

// Shared ownership of a handle.
template <class T, void (*Release)(T*)>
class Shared {
 public:
  Shared() = default;
  explicit Shared(T* handle) : handle_(handle, Release) {}
  T* handle() const { return handle_.get(); }
  bool defined() const { return handle_ != nullptr; }

 private:
  std::shared_ptr<T> handle_;
};

}  // namespace detail

// ---- arguments. They only look at their data: use them as parameters, do not store them.

// A list of numbers: {2, 3}, a vector, or one number. std::nullopt where it may be absent.
template <class T>
class List {
 public:
  List(std::nullopt_t) : absent_(true) {}
  List(T one) : n_(1) { few_[0] = one; }
  List(std::initializer_list<T> values) : List(values.begin(), values.size()) {}
  List(const std::vector<T>& values) : outside_(values.data()), n_(size_of(values)) {}

  const T* data() const {
    if (absent_) return nullptr;
    return outside_ ? outside_ : many_.empty() ? few_.data() : many_.data();
  }
  int64_t size() const { return n_; }

  // One number stands for several equal ones where the schema says so: a kernel size.
  List repeated(size_t count) const {
    return n_ == 1 ? List(std::vector<T>(count, data()[0]), Own{}) : *this;
  }

 private:
  struct Own {};
  List(const std::vector<T>& values, Own) : List(values.data(), values.size()) {}
  List(const T* values, size_t n) : n_(static_cast<int64_t>(n)) {
    if (n > few_.size()) {
      many_.assign(values, values + n);
    } else {
      for (size_t i = 0; i < n; ++i) few_[i] = values[i];
    }
  }
  static int64_t size_of(const std::vector<T>& values) {
    return static_cast<int64_t>(values.size());
  }

  const T* outside_ = nullptr;  // memory of the caller's, or null
  std::array<T, 8> few_{};
  std::vector<T> many_;
  int64_t n_ = 0;
  bool absent_ = false;
};

using Ints = List<int64_t>;
using Reals = List<double>;

// Truth values: {true, false} or a vector.
class Flags {
 public:
  Flags(std::initializer_list<bool> values) : values_(values.begin(), values.end()) {}
  Flags(const std::vector<bool>& values) : values_(values.begin(), values.end()) {}
  const int32_t* data() const { return values_.data(); }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }

 private:
  std::vector<int32_t> values_;
};

// Several strings: {"a", "b"} or a vector. std::nullopt where the list may be absent.
class Strings {
 public:
  Strings(std::nullopt_t) : absent_(true) {}
  Strings(std::initializer_list<const char*> values) : pointers_(values) {}
  Strings(const std::vector<std::string>& values) {
    for (const std::string& value : values) pointers_.push_back(detail::text(value));
  }
  const char* const* data() const { return absent_ ? nullptr : detail::address(pointers_); }
  int64_t size() const { return static_cast<int64_t>(pointers_.size()); }

 private:
  std::vector<const char*> pointers_;
  bool absent_ = false;
};

// A number with its kind. std::nullopt where it may be absent.
class Scalar {
 public:
  Scalar(std::nullopt_t = std::nullopt) {}
  Scalar(bool value) : kind_(DT_SCALAR_KIND_BOOL), i_(value) {}
  Scalar(int value) : kind_(DT_SCALAR_KIND_INT), i_(value) {}
  Scalar(long value) : kind_(DT_SCALAR_KIND_INT), i_(value) {}
  Scalar(long long value) : kind_(DT_SCALAR_KIND_INT), i_(value) {}
  Scalar(float value) : kind_(DT_SCALAR_KIND_FLOAT), f_(static_cast<double>(value)) {}
  Scalar(double value) : kind_(DT_SCALAR_KIND_FLOAT), f_(value) {}
  Scalar(dt_scalar_kind kind, int64_t i, double f) : kind_(kind), i_(i), f_(f) {}

  dt_scalar_kind kind() const { return kind_; }
  int64_t i() const { return i_; }
  double f() const { return f_; }
  double to_double() const { return kind_ == DT_SCALAR_KIND_FLOAT ? f_ : static_cast<double>(i_); }
  int64_t to_int() const { return kind_ == DT_SCALAR_KIND_FLOAT ? static_cast<int64_t>(f_) : i_; }

 private:
  dt_scalar_kind kind_ = 0;
  int64_t i_ = 0;
  double f_ = 0;
};

// A tensor or a number. std::nullopt where it may be absent.
class Operand {
 public:
  Operand(std::nullopt_t) {}
  Operand(const Tensor& tensor);
  Operand(const Scalar& number) : number_(number) {}
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Operand(Number number) : number_(number) {}

  dt_tensor* tensor() const { return tensor_; }
  const Scalar& number() const { return number_; }

 private:
  dt_tensor* tensor_ = nullptr;
  Scalar number_;
};

// One of several tensors; nullopt is an absent one.
class TensorRef {
 public:
  TensorRef(std::nullopt_t) {}
  TensorRef(const Tensor& tensor);
  dt_tensor* get() const { return tensor_; }

 private:
  dt_tensor* tensor_ = nullptr;
};

// Several tensors: {a, b} or a vector. std::nullopt where the list may be absent.
class TensorRefs {
 public:
  TensorRefs(std::nullopt_t) : absent_(true) {}
  TensorRefs(std::initializer_list<TensorRef> tensors) {
    for (const TensorRef& tensor : tensors) handles_.push_back(tensor.get());
  }
  TensorRefs(const std::vector<Tensor>& tensors);
  dt_tensor* const* data() const { return absent_ ? nullptr : detail::address(handles_); }
  int64_t size() const { return static_cast<int64_t>(handles_.size()); }

 private:
  std::vector<dt_tensor*> handles_;
  bool absent_ = false;
};

namespace detail {

// Optional arguments as the C API wants them: a pointer or NULL, 0 for an absent enum.
template <class T>
const T* pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

class Flag {
 public:
  explicit Flag(std::optional<bool> flag)
      : given_(flag.has_value()), value_(flag.value_or(false)) {}
  const int32_t* get() const { return given_ ? &value_ : nullptr; }

 private:
  bool given_;
  int32_t value_;
};

template <class Enum>
int32_t number(const std::optional<Enum>& value) {
  return value ? static_cast<int32_t>(*value) : 0;
}

inline const char* text(const std::optional<std::string>& value) {
  return value ? text(*value) : nullptr;
}

// ---- results

inline std::string take_string(dt_bytes* bytes) {
  const std::unique_ptr<dt_bytes, void (*)(dt_bytes*)> owner(bytes, dt_bytes_release);
  const void* data = nullptr;
  int64_t n = 0;
  check(dt_bytes_data(bytes, &data, &n));
  return std::string(static_cast<const char*>(data), static_cast<size_t>(n));
}

inline std::vector<std::string> take_strings(dt_string_list* list) {
  const std::unique_ptr<dt_string_list, void (*)(dt_string_list*)> owner(list,
                                                                         dt_string_list_release);
  int64_t n = 0;
  check(dt_string_list_len(list, &n));
  std::vector<std::string> strings;
  for (int64_t i = 0; i < n; ++i) {
    const char* string = nullptr;
    check(dt_string_list_get(list, i, &string));
    strings.emplace_back(string);
  }
  return strings;
}

inline std::vector<Tensor> take_tensors(dt_tensor_list* list);

// Numbers that the C API writes into a buffer: asks again with a larger one if they did not fit.
template <class Number, class Call>
std::vector<Number> numbers(Call call) {
  std::vector<Number> values(16);
  int64_t n = 0;
  check(call(values.data(), static_cast<int64_t>(values.size()), &n));
  const bool fits = n <= static_cast<int64_t>(values.size());
  values.resize(static_cast<size_t>(n));
  if (!fits) check(call(values.data(), n, &n));
  return values;
}

}  // namespace detail
}  // namespace dumbtorch
