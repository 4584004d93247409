// The autograd half of Tensor: leaves, history, grad.
#include <algorithm>
#include <mutex>

#include "core/autograd/accumulate.h"
#include "core/autograd/hooks.h"
#include "core/autograd/record.h"
#include "core/autograd/view.h"
#include "core/runtime/thread.h"

namespace dt {
namespace {

using Guard = std::lock_guard<SpinLock>;

bool is_in_graph(const Autograd& a) {
  return a.requires_grad || a.node;
}

// Only a function of the user's puts a node behind a view that was made without gradients.
void check_no_function_made(const TensorImpl& view) {
  const Node* node = view.autograd.node;
  DT_CHECK(!view.autograd.view->made_without_grad || !node || !node->owns_name, kRuntimeError,
           "Output ", view.autograd.output_index, " of ", node->name,
           " is a view and its base or another view of its base has been modified inplace. This "
           "view was created inside a custom Function (or because an input was returned as-is) and "
           "the autograd logic to handle view+inplace would override the custom backward "
           "associated with the custom Function, leading to incorrect gradients. This behavior is "
           "forbidden. You can fix this by cloning the output of the custom Function.");
}

// A view's node is stale once an in-place op gave its base another history.
bool is_stale(const TensorImpl* v, uint32_t rebased) {
  const ViewInfo* const view = v->autograd.view.get();
  return view && view->seen_rebase.load(std::memory_order_acquire) != rebased;
}

// One thread at a time, since several may read one view; recording looks at views again.
class Refreshing {
 public:
  Refreshing() {
    lock_.lock();
    this_thread.is_refreshing_views = true;
  }
  ~Refreshing() {
    this_thread.is_refreshing_views = false;
    lock_.unlock();
  }
  Refreshing(const Refreshing&) = delete;

 private:
  static SpinLock lock_;
};
SpinLock Refreshing::lock_;

// Then the recipe is recorded again, on the parent as it is now: first for the views that this one
// was made from.
void refresh_view(TensorImpl* x) {
  const uint32_t rebased = view_base(x)->autograd.rebased;
  if (!is_stale(x, rebased) || this_thread.is_refreshing_views) return;
  const Refreshing refreshing;
  std::vector<TensorImpl*> chain;
  for (TensorImpl* v = x; is_stale(v, rebased); v = v->autograd.view->parent.get())
    chain.push_back(v);
  for (; !chain.empty(); chain.pop_back()) {
    ViewInfo& view = *chain.back()->autograd.view;
    check_recipe_holds(view);
    check_no_function_made(*chain.back());
    if (is_in_graph(view.parent->autograd)) record_view_of(chain.back(), Tensor(view.parent));
    view.seen_rebase.store(rebased, std::memory_order_release);
  }
}

}  // namespace

Autograd::Autograd() = default;

Autograd::~Autograd() {
  Ref<Node>::adopt(node);
  Ref<Node>::adopt(accumulator);
  Ref<GradSlot>::adopt(slot);
}

// A view holds the tensor it was made from, and a tensor its gradient. Long chains of either are
// freed link by link, not by recursion.
void TensorImpl::destroy(TensorImpl* impl) {
  TensorImpl* dead = impl;
  const auto drop = [&dead](Ref<TensorImpl> x) {
    if (!x || x->use_count() > 1) return;
    x->next_dead = dead;
    dead = x.detach();
  };
  while (dead) {
    TensorImpl* x = dead;
    dead = x->next_dead;
    if (GradSlot* slot = x->autograd.slot; slot && slot->use_count() == 1) drop(slot->take());
    if (ViewInfo* view = x->autograd.view.get()) {
      view->base = nullptr;  // no view: freeing it goes no deeper
      drop(std::move(view->parent));
    }
    delete x;
  }
}

bool Tensor::requires_grad() const {
  Autograd& a = impl_->autograd;
  if (a.view) refresh_view(impl_.get());
  return is_in_graph(a);
}

const Tensor& Tensor::set_requires_grad(bool value) const {
  Autograd& a = impl_->autograd;
  DT_CHECK(!value || is_floating(dtype()), kRuntimeError,
           "only Tensors of floating point dtype can require gradients");
  Guard guard(a.lock);
  DT_CHECK(value || !a.node, kRuntimeError,
           "you can only change requires_grad flags of leaf variables. If you want to use a "
           "computed variable in a subgraph that doesn't require differentiation use var_no_grad = "
           "var.detach().");
  a.requires_grad = value && !a.node;
  using Leaf = AccumulateGrad::Leaf;
  if (a.accumulator && !a.node) a.accumulator->set_leaf(value ? Leaf::kTrained : Leaf::kFrozen);
  return *this;
}

bool Tensor::is_leaf() const {
  return !grad_fn();
}

Ref<Node> Tensor::grad_fn() const {
  Autograd& a = impl_->autograd;
  if (a.view) refresh_view(impl_.get());
  Guard guard(a.lock);
  return Ref<Node>::share(a.node);
}

Tensor Tensor::grad() const {
  Autograd& a = impl_->autograd;
  Guard guard(a.lock);
  return a.slot ? a.slot->get() : Tensor();
}

void Tensor::set_grad(const Tensor& grad) const {
  if (grad.defined()) {
    DT_CHECK(!grad.is_same(*this), kRuntimeError, "can't assign Variable as its own grad");
    DT_CHECK(grad.sizes() == sizes(), kRuntimeError, "attempting to assign a gradient of size '",
             grad.sizes(), "' to a tensor of size '", sizes(),
             "'. Please ensure that the gradient and the tensor are the same size");
    DT_CHECK(grad.dtype() == dtype(), kRuntimeError, "assigned grad has data of a different type");
    DT_CHECK(grad.device() == device(), kRuntimeError,
             "assigned grad has data located on a different device");
  }
  grad_slot(*this)->set(grad);
}

Tensor Tensor::detach() const {
  return make_alias(*this, sizes(), strides(), offset());
}

const Tensor& Tensor::detach_() const {
  Autograd& a = impl_->autograd;
  Ref<Node> history;  // freed outside the lock
  std::unique_ptr<ViewInfo> view;
  Guard guard(a.lock);
  view.swap(a.view);
  history = Ref<Node>::adopt(a.node);
  a.node = nullptr;
  a.output_index = 0;
  a.requires_grad = false;
  if (a.accumulator) a.accumulator->set_leaf(AccumulateGrad::Leaf::kFrozen);
  return *this;
}

Tensor Tensor::detach_version() const {
  Tensor y = detach();
  y.impl()->own_version = Ref<VersionCell>::adopt(new VersionCell(0));
  return y;
}

void Tensor::set_data(const Tensor& other) const {
  DT_CHECK(is_floating(other.dtype()) || !requires_grad(), kRuntimeError,
           "data set to a tensor that requires gradients "
           "must be floating point or complex dtype");
  // The count goes on, apart from other's. A saved tensor of another shape is a changed one: no
  // backward would know what to do with it.
  const bool fits = other.sizes() == sizes() && other.dtype() == dtype();
  auto own_version = Ref<VersionCell>::adopt(new VersionCell(version() + !fits));
  std::unique_ptr<ViewInfo> view;  // it is no view of its base's memory any more
  {
    Guard guard(impl_->autograd.lock);
    view.swap(impl_->autograd.view);
    std::swap(impl_->own_version, own_version);
    impl_->dtype = other.dtype();
  }
  set_look(other);
}

void Tensor::set_look(const Tensor& other) const {
  Ref<Storage> storage = other.storage();
  Guard guard(impl_->autograd.lock);
  std::swap(impl_->storage, storage);  // what was there is freed after the lock was given back
  impl_->offset = other.offset();
  impl_->numel = other.numel();
  impl_->contiguous = other.impl_->contiguous;
  impl_->sizes = other.sizes();
  impl_->strides = other.strides();
  if (impl_->autograd.accumulator) impl_->autograd.accumulator->look_at(*this);
}

void Tensor::retain_grad() const {
  DT_CHECK(requires_grad(), kRuntimeError,
           "can't retain_grad on Tensor that has requires_grad=False");
  if (!is_leaf() && !retains_grad()) add_retain_hook(*this);  // leaves keep theirs anyway
}

bool Tensor::retains_grad() const {
  return !is_leaf() && !impl_->autograd.retain_hook.expired();
}

}  // namespace dt
