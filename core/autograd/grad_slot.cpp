#include "core/autograd/grad_slot.h"

#include <mutex>

#include "core/autograd/gradients.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

using Guard = std::lock_guard<SpinLock>;

// Whether nothing but this gradient leads to its memory, and it has use for all of that. A view of
// what is gone otherwise is one (after `reshape`), but not with a graph of its own.
bool owns_storage(const Tensor& grad) {
  if (!grad.impl()->autograd.view) return is_sole_owner(grad);
  return !grad.requires_grad() && are_sole_owners(&grad, 1) &&
         grad.storage()->bytes() == grad.numel() * grad.item_bytes();
}

}  // namespace

Tensor GradSlot::get() const {
  Guard guard(lock_);
  return grad_;
}

void GradSlot::set(Tensor grad) {
  Guard guard(lock_);
  std::swap(grad_, grad);
}  // the old gradient is freed with the parameter, after the lock was given back

Ref<TensorImpl> GradSlot::take() {
  Guard guard(lock_);
  return std::exchange(grad_, Tensor()).ref();
}

bool GradSlot::put(const Tensor& grad) {
  Guard guard(lock_);
  if (grad_.defined()) return false;
  grad_ = grad;
  return true;
}

template <class Sum>
void GradSlot::update(Tensor grad, const Sum& sum) {
  Tensor before(take());
  try {
    for (;;) {
      if (grad.defined()) before = sum(before, std::move(grad));
      if (put(before)) return;
      grad = Tensor(take());
    }
  } catch (...) {
    if (before.defined()) put(before);
    throw;
  }
}

void GradSlot::accumulate(Tensor grad, const Dims& strides, bool create_graph) {
  update(std::move(grad), [&](const Tensor& before, Tensor grad) {
    if (!before.defined()) {
      if (!owns_storage(grad) || !same_walk(grad.sizes(), grad.strides(), strides))
        return clone_strided(grad, strides);
      grad.storage()->version() = 0;  // how often it was added to on its way concerns nobody
      if (grad.impl()->autograd.view)
        return make_alias(grad, grad.sizes(), grad.strides(), grad.offset());
      if (!create_graph && grad.requires_grad()) grad.detach_();  // one handed in, and cast
      return grad;
    }
    if (create_graph) return add_gradients(before, grad);
    add_into(before, grad);
    return before;
  });
}

void GradSlot::add_copy(const Tensor& grad) {
  update(grad, [](const Tensor& before, const Tensor& grad) {
    return before.defined() ? add_gradients(before, grad)
                            : clone_strided(grad, contiguous_strides(grad.sizes()));
  });
}

Dims grad_strides(const Tensor& x) {
  return is_dense(x.sizes(), x.strides()) ? x.strides() : contiguous_strides(x.sizes());
}

Ref<GradSlot> grad_slot(const Tensor& x) {
  Autograd& a = x.impl()->autograd;
  Guard guard(a.lock);
  if (!a.slot) a.slot = new GradSlot;
  return Ref<GradSlot>::share(a.slot);
}

}  // namespace dt
