#include "core/tensor/storage.h"

#include <cstdlib>
#include <new>

#include "core/base/error.h"
#include "core/runtime/allocator.h"

namespace dt {
namespace {

// The header and the data of an allocated storage are one block: one allocation for both.
constexpr int64_t kHeaderBytes = 64;
static_assert(sizeof(Storage) <= kHeaderBytes, "the data must stay 64-byte aligned");

}  // namespace

Ref<Storage> Storage::allocate(int64_t bytes, Device device) {
  DT_CHECK(device.type == DeviceType::kCpu, kRuntimeError, "device '", device,
           "' is not available: this library has no "
           "CUDA backend");
  void* block = cpu_allocate(bytes + kHeaderBytes);
  void* data = static_cast<char*>(block) + kHeaderBytes;
  return Ref<Storage>::adopt(new (block) Storage(data, bytes, device, nullptr, nullptr));
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
  const int64_t bytes = s->bytes_;
  s->~Storage();
  cpu_free(s, bytes + kHeaderBytes);
}

}  // namespace dt
