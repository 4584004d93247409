// Memory that crosses the border: copies in and out, and tensors over the caller's memory.
#include <cstring>

#include "capi/shim/arguments.h"
#include "capi/shim/callbacks.h"
#include "capi/shim/guard.h"
#include "capi/shim/results.h"
#include "capi/shim/types.gen.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/context.h"

using namespace dt;
using namespace dt::capi;

namespace {

void check_bytes(const void* data, int64_t given, int64_t needed) {
  DT_CHECK(given == needed, kValueError, "data has ", given, " bytes, the tensor ", needed);
  DT_CHECK(data || needed == 0, kValueError, "data is NULL");
}

int64_t bytes_of(const Tensor& x) {
  return count_bytes(x.sizes(), x.numel(), x.dtype());
}

// How many bytes a view from `data` on reaches. Strides must not be negative: data is the lowest
// address.
int64_t reach(IntList size, IntList stride, int64_t item_bytes) {
  DT_CHECK(size.size() == stride.size(), kValueError, "size has ", size.size(), " entries, stride ",
           stride.size());
  int64_t elements = 1;
  for (int64_t i = 0; i < size.size(); ++i) {
    if (size[i] == 0) return 0;
    int64_t step;
    DT_CHECK(stride[i] >= 0, kValueError, "stride ", stride, " has a negative entry");
    const bool fits = !__builtin_mul_overflow(size[i] - 1, stride[i], &step) &&
                      !__builtin_add_overflow(elements, step, &elements);
    DT_CHECK(fits, kValueError, "size ", size, " and stride ", stride, " overflow");
  }
  int64_t bytes;
  DT_CHECK(!__builtin_mul_overflow(elements, item_bytes, &bytes), kValueError, "size ", size,
           " and stride ", stride, " overflow");
  return bytes;
}

void drop_user_data(void* block) {
  auto* b = static_cast<DroppedLater*>(block);
  Ref<DroppedLater>::adopt(b);
}

}  // namespace

dt_status dt_tensor_read(dt_tensor* input, void* data, int64_t data_n) noexcept {
  return guard("tensor_read", [&] {
    const Pin<dt_tensor> pin(input, "input");
    check_bytes(data, data_n, bytes_of(*pin));
    const GradMode off(false);
    const Tensor dense = on_host(contiguous(*pin));
    if (data_n) std::memcpy(data, dense.data(), static_cast<size_t>(data_n));
  });
}

dt_status dt_tensor_write(dt_tensor* input, const void* data, int64_t data_n) noexcept {
  return guard("tensor_write", [&] {
    const Pin<dt_tensor> pin(input, "input");
    const Tensor& x = *pin;
    check_bytes(data, data_n, bytes_of(x));
    const Tensor source = make_empty(x.sizes(), x.dtype(), kCpu);
    if (data_n) std::memcpy(source.data(), data, static_cast<size_t>(data_n));
    copy_(x, source);
  });
}

dt_status dt_from_data(const void* data, int64_t data_n, const int64_t* size, int64_t size_n,
                       dt_dtype dtype, dt_device_type device_type, int64_t device_index,
                       dt_tensor** out) noexcept {
  clear_all(out);
  return guard("from_data", [&] {
    const IntList sizes = list(size, size_n, "size");
    const DType type = enum_value<DType>(dtype, "dtype");
    const Device where = device_or_default(optional_device(device_type, device_index, "device"));
    need(out, "out");
    check_bytes(data, data_n, count_bytes(sizes, count_elements(sizes), type));
    const Tensor x = make_empty(sizes, type, kCpu);
    if (data_n) std::memcpy(x.data(), data, static_cast<size_t>(data_n));
    put(out, where == kCpu ? x : to(x, where));
  });
}

dt_status dt_from_blob(void* data, int64_t data_n, const int64_t* size, int64_t size_n,
                       const int64_t* stride, int64_t stride_n, dt_dtype dtype,
                       dt_device_type device_type, int64_t device_index, void* user_data,
                       void (*drop)(void* user_data), dt_tensor** out) noexcept {
  clear_all(out);
  return guard("from_blob", [&] {
    UserData owner(user_data, drop);
    const IntList sizes = list(size, size_n, "size");
    const auto strides = optional_list(stride, stride_n, "stride");
    const DType type = enum_value<DType>(dtype, "dtype");
    const Device where = device_or_default(optional_device(device_type, device_index, "device"));
    if (where != kCpu) accelerator(where);  // refuses one that is not there
    need(out, "out");
    count_elements(sizes);  // refuses negative sizes
    const Dims steps = strides ? Dims(*strides) : contiguous_strides(sizes);
    const int64_t needed = reach(sizes, steps, info(type).bytes);
    DT_CHECK(data_n >= needed, kValueError, "data has ", data_n, " bytes, the tensor needs ",
             needed);
    DT_CHECK(data || needed == 0, kValueError, "data is NULL");
    const auto storage = Storage::wrap(data, data_n, where, drop_user_data, owner.detach());
    put(out, Tensor(Ref<TensorImpl>::adopt(new TensorImpl(storage, 0, sizes, steps, type))));
  });
}
