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

// While it lives no other thread adds. The thread itself may come back to the slot: memory may run
// out while a sum is made, and what the user does then may end here.
class GradSlot::Adding {
 public:
  explicit Adding(GradSlot* slot) : slot_(slot->adder_ == &this_thread ? nullptr : slot) {
    if (!slot_) return;
    slot_->adding_.lock();
    slot_->adder_ = &this_thread;
  }
  ~Adding() {
    if (!slot_) return;
    slot_->adder_ = nullptr;
    slot_->adding_.unlock();
  }
  Adding(const Adding&) = delete;

 private:
  GradSlot* const slot_;  // null: the thread is adding already
};

bool GradSlot::replace(const Tensor& before, const Tensor& after) {
  Guard guard(lock_);
  if (grad_.impl() != before.impl()) return false;
  grad_ = after;
  return true;
}

template <class Sum>
Tensor GradSlot::update(Tensor grad, const Sum& sum) {
  const Adding adding(this);
  for (;;) {
    const Tensor before = get();
    grad = sum(before, std::move(grad));
    if (replace(before, grad)) return grad;
  }
}

Tensor GradSlot::accumulate(Tensor grad, const Dims& strides, bool create_graph) {
  return update(std::move(grad), [&](const Tensor& before, Tensor grad) {
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
