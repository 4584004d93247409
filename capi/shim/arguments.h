// C arguments as C++ ones: every function here checks what the caller gave, and names the argument
// when it is wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capi/shim/handles.h"
#include "core/base/bytes.h"
#include "core/base/span.h"
#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt::capi {

// ---- numbers

Scalar scalar(dt_scalar_kind kind, int64_t i, double f, const char* name);
std::optional<Scalar> optional_scalar(dt_scalar_kind kind, int64_t i, double f, const char* name);

template <class T>
std::optional<T> optional_number(const T* p) {
  return p ? std::optional<T>(*p) : std::nullopt;
}
inline std::optional<bool> optional_bool(const int32_t* p) {
  return p ? std::optional<bool>(*p != 0) : std::nullopt;
}

// ---- lists

void check_list(const void* data, int64_t n, const char* name);

// What is absent has neither a pointer nor a count.
inline bool is_given(const void* data, int64_t n) {
  return data || n != 0;
}

template <class T>
Span<const T> list(const T* data, int64_t n, const char* name) {
  check_list(data, n, name);
  return {data, n};
}
template <class T>
std::optional<Span<const T>> optional_list(const T* data, int64_t n, const char* name) {
  if (!is_given(data, n)) return std::nullopt;
  return list(data, n, name);
}
// Truth values: whatever is not 0 is true.
std::vector<bool> flags(const int32_t* data, int64_t n, const char* name);

inline Bytes bytes(const void* data, int64_t n, const char* name) {
  check_list(data, n, name);
  return {data, n};
}

// ---- text

std::string string(const char* s, const char* name);
inline std::optional<std::string> optional_string(const char* s) {
  return s ? std::optional<std::string>(s) : std::nullopt;
}
std::vector<std::string> strings(const char* const* data, int64_t n, const char* name);
std::optional<std::vector<std::string>> optional_strings(const char* const* data, int64_t n,
                                                         const char* name);

// ---- enums and devices

// The largest number of an enum, and a bit for each one below it that is only reserved
// (types.gen.h).
template <class E>
struct EnumLimit;

[[noreturn]] void fail_enum(int32_t value, int32_t last, const char* name);

template <class E>
E enum_value(int32_t value, const char* name) {
  const bool known = value >= 1 && value <= EnumLimit<E>::last;
  if (!known || (EnumLimit<E>::gaps >> value & 1)) fail_enum(value, EnumLimit<E>::last, name);
  return static_cast<E>(value);
}
template <class E>
E optional_enum(int32_t value, const char* name) {
  return value == 0 ? E::kDefault : enum_value<E>(value, name);
}

Device device(dt_device_type type, int64_t index, const char* name);
Device optional_device(dt_device_type type, int64_t index, const char* name);

// ---- tensors

// Tensor handles as a TensorList. It holds references, so no pins need to stay.
enum Absent { kMustBePresent, kMayBeAbsent };
class TensorArray {
 public:
  TensorArray(dt_tensor* const* handles, int64_t n, const char* name,
              Absent absent = kMustBePresent);
  operator TensorList() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

class OptionalTensorArray {
 public:
  OptionalTensorArray(dt_tensor* const* handles, int64_t n, const char* name)
      : array_(handles, n, name), absent_(!is_given(handles, n)) {}
  std::optional<TensorList> list() const {
    return absent_ ? std::nullopt : std::optional<TensorList>(array_);
  }

 private:
  TensorArray array_;
  bool absent_;
};

// A tensor, or a number where the handle is NULL.
Operand operand(dt_tensor* tensor, dt_scalar_kind kind, int64_t i, double f, const char* name);
std::optional<Operand> optional_operand(dt_tensor* tensor, dt_scalar_kind kind, int64_t i, double f,
                                        const char* name);

// ---- options structs

// Copies what the caller's struct has into `known`, which holds the defaults: an older caller's
// struct is shorter, a newer one's longer, and what we do not know must be zero.
void read_struct(void* known, int64_t known_size, const void* given, const char* name);
void check_reserved(int32_t value, const char* name);
// The caller's struct with the defaults; what we do not know becomes zero.
void start_struct(void* out, int64_t size, const void* initial, int64_t known_size);

}  // namespace dt::capi
