#include "core/tensor/storage.h"

#include <cstdlib>
#include <new>

#include "core/base/error.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/allocator.h"
#include "core/runtime/context.h"
#include "core/runtime/graph.h"
#include "core/runtime/stream.h"

namespace dt {
namespace {

// The header and the data of an allocated storage are one block: one allocation for both.
constexpr int64_t kHeaderBytes = 64;
constexpr int64_t kMostBytes = int64_t{1}
                               << 62;  // no machine has as much, and sums do not overflow
static_assert(sizeof(Storage) <= kHeaderBytes, "the data must stay 64-byte aligned");

}  // namespace

// From then on anything may be in it.
Ref<Storage> take_offered(const Dims& sizes, const Dims& strides, DType dtype, Device device) {
  Context* const c = this_thread.context;
  if (!c || !c->offered) return nullptr;
  const TensorImpl& x = *c->offered;
  if (x.dtype != dtype || !(x.storage->device() == device) || !(x.sizes == sizes) ||
      !(x.strides == strides)) {
    return nullptr;
  }
  const Tensor taken(std::move(c->offered));
  taken.bump_version();
  return taken.storage();
}

Ref<Storage> Storage::allocate(int64_t bytes, Device device) {
  if (device.type == DeviceType::kCuda) return allocate_on_device(bytes, device);
  DT_CHECK(bytes < kMostBytes, kOutOfMemory, "can't allocate memory: you tried to allocate ", bytes,
           " bytes");
  void* block = cpu_allocate(bytes + kHeaderBytes);
  void* data = static_cast<char*>(block) + kHeaderBytes;
  return Ref<Storage>::adopt(new (block) Storage(data, bytes, device, nullptr, nullptr));
}

Ref<Storage> Storage::allocate_on_device(int64_t bytes, Device device) {
  const dt_backend& backend = *accelerator(device).backend;
  void* header = Pooled::operator new(sizeof(Storage));
  void* const stream = current_native_stream(device);
  void* data = nullptr;
  if (bytes) {
    dt_fault fault;
    fault.op = nullptr;
    int32_t result = backend.allocate(device.index, bytes, stream, &data, &fault);
    if (result == DT_KERNEL_OUT_OF_MEMORY && run_memory_hook(bytes)) {
      result = backend.allocate(device.index, bytes, stream, &data, &fault);
    }
    if (result != DT_KERNEL_OK) Pooled::operator delete(header, sizeof(Storage));
    check_device(result, fault);
  }
  auto* storage = new (header) Storage(data, bytes, device, nullptr, nullptr);
  if (const Graph* graph = context().graph) storage->capture_ = graph->number_on(stream);
  return Ref<Storage>::adopt(storage);
}

Ref<Storage> Storage::wrap(void* data, int64_t bytes, Device device, Deleter deleter,
                           void* context) {
  static const auto leave_alone = [](void*) {};
  void* header = std::malloc(sizeof(Storage));
  if (!header) {
    if (deleter) deleter(context);
    throw std::bad_alloc();
  }
  return Ref<Storage>::adopt(
      new (header) Storage(data, bytes, device, deleter ? deleter : +leave_alone, context));
}

void Storage::destroy(Storage* s) {
  if (s->deleter_) {
    s->deleter_(s->context_);
    s->~Storage();
    std::free(s);
    return;
  }
  if (s->device_.type == DeviceType::kCuda) {
    if (s->data_) find_accelerator()->backend->release(s->device_.index, s->data_);
    s->~Storage();
    Pooled::operator delete(s, sizeof(Storage));
    return;
  }
  const int64_t bytes = s->bytes_;
  s->~Storage();
  cpu_free(s, bytes + kHeaderBytes);
}

}  // namespace dt
