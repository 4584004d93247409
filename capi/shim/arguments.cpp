#include "capi/shim/arguments.h"

#include <algorithm>

namespace dt::capi {

Scalar scalar(dt_scalar_kind kind, int64_t i, double f, const char* name) {
  switch (kind) {
    case DT_SCALAR_KIND_BOOL:
      return Scalar(i != 0);
    case DT_SCALAR_KIND_INT:
      return Scalar(i);
    case DT_SCALAR_KIND_FLOAT:
      return Scalar(f);
    case DT_SCALAR_KIND_UINT:
      return Scalar(static_cast<uint64_t>(i));
  }
  fail(Code::kTypeError, name, " has the unknown scalar kind ", kind);
}

std::optional<Scalar> optional_scalar(dt_scalar_kind kind, int64_t i, double f, const char* name) {
  if (kind == 0) return std::nullopt;
  return scalar(kind, i, f, name);
}

void check_list(const void* data, int64_t n, const char* name) {
  DT_CHECK(n >= 0, kValueError, name, " has the count ", n);
  DT_CHECK(data || n == 0, kValueError, name, " is NULL but has the count ", n);
}

std::vector<bool> flags(const int32_t* data, int64_t n, const char* name) {
  check_list(data, n, name);
  std::vector<bool> out;
  out.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out.push_back(data[i] != 0);
  return out;
}

std::string string(const char* s, const char* name) {
  DT_CHECK(s, kTypeError, name, " is NULL, expected a string");
  return s;
}

std::vector<std::string> strings(const char* const* data, int64_t n, const char* name) {
  check_list(data, n, name);
  std::vector<std::string> out;
  out.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out.push_back(string(data[i], name));
  return out;
}

std::optional<std::vector<std::string>> optional_strings(const char* const* data, int64_t n,
                                                         const char* name) {
  if (!is_given(data, n)) return std::nullopt;
  return strings(data, n, name);
}

void fail_enum(int32_t value, int32_t last, const char* name) {
  fail(Code::kValueError, name, " is ", value, ", expected a value from 1 to ", last);
}

Device device(dt_device_type type, int64_t index, const char* name) {
  DT_CHECK(type == DT_DEVICE_TYPE_CPU || type == DT_DEVICE_TYPE_CUDA, kValueError, name,
           " has the unknown device type ", type);
  const bool current = index == -1 && type == DT_DEVICE_TYPE_CUDA;
  if (current) index = context().cuda_device;
  DT_CHECK(index >= 0 && index <= INT16_MAX, kValueError, name, " has the device index ", index);
  if (type == DT_DEVICE_TYPE_CPU) return kCpu;  // there is one, whatever its number
  return {static_cast<DeviceType>(type), static_cast<int32_t>(index)};
}

Device optional_device(dt_device_type type, int64_t index, const char* name) {
  return type == 0 ? Device() : device(type, index, name);
}

TensorArray::TensorArray(dt_tensor* const* handles, int64_t n, const char* name, Absent absent) {
  check_list(handles, n, name);
  tensors_.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    if (!handles[i] && absent == kMayBeAbsent)
      tensors_.emplace_back();
    else
      tensors_.push_back(*Pin<dt_tensor>(handles[i], name));
  }
}

Operand operand(dt_tensor* tensor, dt_scalar_kind kind, int64_t i, double f, const char* name) {
  if (tensor) return *Pin<dt_tensor>(tensor, name);
  DT_CHECK(kind != 0, kHandle, name, " is NULL, expected a tensor or a number");
  return scalar(kind, i, f, name);
}

std::optional<Operand> optional_operand(dt_tensor* tensor, dt_scalar_kind kind, int64_t i, double f,
                                        const char* name) {
  if (!tensor && kind == 0) return std::nullopt;
  return operand(tensor, kind, i, f, name);
}

namespace {

void check_struct_size(int64_t size, const char* name) {
  DT_CHECK(size >= static_cast<int64_t>(sizeof size) && size <= 1 << 16, kValueError, name,
           ".struct_size is ", size, "; start from the _INIT macro");
}

}  // namespace

void read_struct(void* known, int64_t known_size, const void* given, const char* name) {
  if (!given) return;
  int64_t size;
  std::memcpy(&size, given, sizeof size);
  check_struct_size(size, name);
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (int64_t i = known_size; i < size; ++i) {
    DT_CHECK(bytes[i] == 0, kNotImplemented, name, " uses a field that this version does not know");
  }
  std::memcpy(known, given, static_cast<size_t>(std::min(size, known_size)));
}

void check_reserved(int32_t value, const char* name) {
  DT_CHECK(value == 0, kValueError, name, " has ", value,
           " in reserved space; start from the _INIT macro");
}

void start_struct(void* out, int64_t size, const void* initial, int64_t known_size) {
  DT_CHECK(out, kTypeError, "options is NULL");
  check_struct_size(size, "options");
  std::memset(out, 0, static_cast<size_t>(size));
  std::memcpy(out, initial, static_cast<size_t>(std::min(size, known_size)));
  std::memcpy(out, &size, sizeof size);
}

}  // namespace dt::capi
