// Tensors to and from DLPack, without a copy.
#include "capi/shim/dlpack.h"

#include "capi/shim/callbacks.h"
#include "capi/shim/guard.h"
#include "capi/shim/results.h"
#include "core/runtime/accelerator.h"

using namespace dt;
using namespace dt::capi;

namespace {

// What keeps an exported tensor alive, with room for its shape.
struct Exported {
  dlpack::ManagedTensor managed;
  dt::Tensor tensor;
  Dims shape, strides;
};

int32_t dlpack_device(DeviceType type) {
  return type == DeviceType::kCuda ? 2 : 1;
}

dlpack::ManagedTensor* export_tensor(const dt::Tensor& x) {
  DT_CHECK(!x.requires_grad(), kRuntimeError,
           "Can't export tensors that require gradient, use tensor.detach()");
  // A tensor of its own: that of the caller may get other memory, by resize_ or by its data.
  auto* e = new Exported{{}, x.detach(), x.sizes(), x.strides()};
  dlpack::ManagedTensor& m = e->managed;
  m.version = {1, 0};
  m.manager_ctx = e;
  m.deleter = [](dlpack::ManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  m.flags = 0;
  const DTypeInfo& type = info(x.dtype());
  m.dl_tensor.data = x.data();
  m.dl_tensor.device = {dlpack_device(x.device().type), x.device().index};
  m.dl_tensor.ndim = x.ndim();
  m.dl_tensor.dtype = {static_cast<uint8_t>(type.dlpack_code), static_cast<uint8_t>(8 * type.bytes),
                       1};
  m.dl_tensor.shape = &e->shape[0];
  m.dl_tensor.strides = &e->strides[0];
  m.dl_tensor.byte_offset = 0;
  return &m;
}

DType import_dtype(dlpack::DataType t) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const DTypeInfo& type = kDTypes[i];
    if (type.dlpack_code == t.code && 8 * type.bytes == t.bits && t.lanes == 1)
      return static_cast<DType>(i);
  }
  fail(Code::kTypeError, "no dtype for DLPack code ", int(t.code), " with ", int(t.bits),
       " bits and ", int(t.lanes), " lanes");
}

Device import_device(dlpack::Device d) {
  DT_CHECK(d.device_type == 1 || d.device_type == 2, kRuntimeError, "DLPack device type ",
           d.device_type, " is not supported");
  if (d.device_type == 1) return kCpu;
  const Device device{DeviceType::kCuda, d.device_id};
  accelerator(device);  // refuses one that is not there
  return device;
}

void call_deleter(void* managed) {
  auto* m = static_cast<dlpack::ManagedTensor*>(managed);
  if (m->deleter) m->deleter(m);
}

// A tensor over the memory of `m`. Its owner's drop is not set yet: until the call has succeeded, m
// is the caller's.
dt::Tensor import_tensor(dlpack::ManagedTensor* m, DroppedLater** owner) {
  DT_CHECK(m, kTypeError, "managed is NULL");
  DT_CHECK(m->version.major == 1, kRuntimeError, "DLPack version ", m->version.major,
           " is not supported");
  DT_CHECK(!(m->flags & dlpack::kReadOnly), kRuntimeError,
           "the memory is read-only; copy it first");
  const dlpack::Tensor& t = m->dl_tensor;
  DT_CHECK(t.ndim >= 0 && t.ndim <= DT_MAX_DIMS, kRuntimeError, "a tensor has at most ",
           int(DT_MAX_DIMS), " dimensions, got ", t.ndim);
  DT_CHECK(t.shape || t.ndim == 0, kRuntimeError, "shape is NULL");
  const DType dtype = import_dtype(t.dtype);
  const Device device = import_device(t.device);
  const IntList sizes(t.shape, t.ndim);
  const int64_t numel = count_elements(sizes);
  const Dims strides = t.strides ? Dims(IntList(t.strides, t.ndim)) : contiguous_strides(sizes);
  DT_CHECK(t.data || numel == 0, kRuntimeError, "data is NULL");
  int64_t elements = 1, bytes = 0;
  bool overflow = false;
  for (int i = 0; numel && i < t.ndim; ++i) {
    int64_t reach;
    DT_CHECK(strides[i] >= 0, kRuntimeError, "negative strides are not supported");
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                __builtin_add_overflow(elements, reach, &elements);
  }
  overflow |= numel && __builtin_mul_overflow(elements, info(dtype).bytes, &bytes);
  DT_CHECK(!overflow, kRuntimeError, "shape ", sizes, " and strides ", strides, " overflow");
  *owner = new DroppedLater(m, nullptr);
  const auto storage = Storage::wrap(
      static_cast<char*>(t.data) + t.byte_offset, bytes, device,
      [](void* o) { Ref<DroppedLater>::adopt(static_cast<DroppedLater*>(o)); }, *owner);
  return dt::Tensor(Ref<TensorImpl>::adopt(new TensorImpl(storage, 0, sizes, strides, dtype)));
}

}  // namespace

dt_status dt_to_dlpack(dt_tensor* input, void** out) noexcept {
  clear_all(out);
  return guard("to_dlpack", [&] {
    const Pin<dt_tensor> pin(input, "input");
    need(out, "out");
    *out = export_tensor(*pin);
  });
}

dt_status dt_from_dlpack(void* managed, dt_tensor** out) noexcept {
  clear_all(out);
  return guard("from_dlpack", [&] {
    need(out, "out");
    DroppedLater* owner;
    put(out, import_tensor(static_cast<dlpack::ManagedTensor*>(managed), &owner));
    // The producer's deleter is user code: it waits for a thread that is inside a call.
    owner->drop = call_deleter;
  });
}
