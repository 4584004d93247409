#include "core/ops/given_memory.h"

#include "core/ops/creation.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// Kernels may count on what fresh memory promises: see Storage::allocate.
bool is_like_fresh(const Tensor& x) {
  const Storage& storage = *x.storage();
  return storage.device() == kCpu && x.numel() > 0 && x.offset() == 0 &&
         storage.bytes() == x.numel() * x.item_bytes() &&
         reinterpret_cast<uintptr_t>(storage.data()) % 64 == 0;
}

}  // namespace

bool offer_memory(const Tensor& out, TensorList inputs) {
  Context& c = context();
  if (c.is_autocasting) return false;
  bool fits = is_like_fresh(out) && !out.impl()->autograd.view;
  fits &= !(c.grad_enabled && out.requires_grad());
  for (const Tensor& x : inputs) {
    fits &= !(x.storage() == out.storage()) && !(c.grad_enabled && x.requires_grad());
  }
  if (fits) c.offered = Ref<TensorImpl>::share(out.impl());
  return true;
}

Tensor finish_offer(const Tensor& out, const Tensor& result) {
  Context& c = context();
  c.offered = nullptr;
  if (!result.defined()) return {};
  const bool in_place = result.storage() == out.storage();
  const bool alike = result.sizes() == out.sizes() && result.dtype() == out.dtype() &&
                     result.device() == out.device();
  if (in_place && alike && result.offset() == out.offset() && result.strides() == out.strides()) {
    return {};  // what took the memory raised the version
  }
  const Tensor source = in_place ? clone(result) : result;
  if (!alike || (c.grad_enabled && (out.requires_grad() || result.requires_grad()))) return source;
  copy_(out, source);
  return {};
}

}  // namespace dt
