// C++ results as C ones.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "capi/shim/handles.h"
#include "core/base/device.h"
#include "core/base/scalar.h"
#include "core/tensor/tensor.h"

namespace dt::capi {

// Outputs are NULL or 0 until the call has succeeded.
template <class... T>
void clear_all(T*... outs) {
  ((outs ? void(*outs = T{}) : void()), ...);
}

template <class T>
void need(T* out, const char* name) {
  DT_CHECK(out, kTypeError, "the output pointer ", name, " is NULL");
}

// That of an undefined tensor is NULL.
inline dt_tensor* optional_handle(Tensor tensor) {
  return tensor.defined() ? make_handle<dt_tensor>(std::move(tensor)) : nullptr;
}

// A handle that nobody has yet.
template <class C>
class Owned {
 public:
  explicit Owned(typename HandleKind<C>::Object object)
      : handle_(make_handle<C>(std::move(object))) {}
  explicit Owned(C* handle) : handle_(handle) {}
  ~Owned() {
    if (handle_) release_slot(bits(handle_), HandleKind<C>::number);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  C* detach() { return std::exchange(handle_, nullptr); }

 private:
  C* handle_;
};

// ---- handles

template <class C, class Object = typename HandleKind<C>::Object>
void put(C** out, Object object) {
  *out = make_handle<C>(std::move(object));
}
// An undefined tensor comes out as NULL.
inline void put_optional(dt_tensor** out, Tensor tensor) {
  *out = optional_handle(std::move(tensor));
}

// ---- numbers

inline void put(int64_t* out, int64_t value) {
  *out = value;
}
inline void put(double* out, double value) {
  *out = value;
}
inline void put(int32_t* out, bool value) {
  *out = value;
}
template <class E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
void put(int32_t* out, E value) {
  *out = static_cast<int32_t>(value);
}
inline void put(void** out, void* value) {
  *out = value;
}

inline void put(dt_device_type* type, int64_t* index, Device device) {
  *type = static_cast<dt_device_type>(device.type);
  *index = device.index;
}

inline void put(dt_scalar_kind* kind, int64_t* i, double* f, const Scalar& value) {
  if (value.is_floating()) {
    *kind = DT_SCALAR_KIND_FLOAT;
    *f = value.to_double();
  } else {
    *kind = value.category() == Category::BOOL ? DT_SCALAR_KIND_BOOL : DT_SCALAR_KIND_INT;
    *i = value.to_int64();
  }
}

// As many numbers as fit, and how many there are.
template <class T>
void put_list(T* out, int64_t capacity, int64_t* n, Span<const T> values) {
  DT_CHECK(capacity >= 0, kValueError, "out_capacity is ", capacity);
  DT_CHECK(out || capacity == 0, kTypeError, "the output pointer out is NULL but out_capacity is ",
           capacity);
  *n = values.size();
  for (int64_t i = 0; i < values.size() && i < capacity; ++i) out[i] = values[i];
}
inline void put(int64_t* out, int64_t capacity, int64_t* n, const std::vector<int64_t>& values) {
  put_list<int64_t>(out, capacity, n, values);
}
inline void put(int64_t* out, int64_t capacity, int64_t* n, const Dims& values) {
  put_list<int64_t>(out, capacity, n, values);
}
inline void put(double* out, int64_t capacity, int64_t* n, const std::vector<double>& values) {
  put_list<double>(out, capacity, n, values);
}

}  // namespace dt::capi
