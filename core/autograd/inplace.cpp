#include "core/autograd/inplace.h"

#include "core/autograd/copy_slices.h"
#include "core/autograd/gradients.h"
#include "core/autograd/view.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

constexpr const char* kViewMadeWithoutGrad =
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the no_grad block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be "
    "tracked).";

// What the views from `x` on lead to. That is not view_base(x) if one of them has left the graph
// since, by detach_: then it is a base of its own.
TensorImpl* end_of_views(TensorImpl* x) {
  while (x->autograd.view) x = x->autograd.view->parent.get();
  return x;
}

}  // namespace

bool repeats_memory(const Tensor& x) {
  if (x.numel() == 0) return false;
  for (int d = 0; d < x.ndim(); ++d) {
    if (x.strides()[d] == 0 && x.sizes()[d] > 1) return true;
  }
  return false;
}

void check_inplace(const Tensor& x, bool recorded) {
  DT_CHECK(!repeats_memory(x), kRuntimeError,
           "unsupported operation: more than one element of the written-to tensor refers to a "
           "single memory location. Please clone() the tensor before performing the operation.");
  check_history_change(x, recorded);
}

void check_history_change(const Tensor& x, bool recorded) {
  if (!grad_enabled()) return;
  const Autograd& a = x.impl()->autograd;
  DT_CHECK(!a.requires_grad, kRuntimeError,
           "a leaf Variable that requires grad is being used in an in-place operation.");
  if (!a.view) return;
  // The leaf may be the base or, if the user made a view require grad, a view on the way to it.
  const Autograd& base = end_of_views(x.impl())->autograd;
  const bool base_is_leaf = !base.node;
  DT_CHECK(!base_is_leaf || !(x.requires_grad() || base.requires_grad), kRuntimeError,
           "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  DT_CHECK(!a.view->made_without_grad || (base_is_leaf && !recorded), kRuntimeError,
           kViewMadeWithoutGrad);
}

Tensor history_clone(const Tensor& x) {
  Tensor copy;
  {
    const GradMode no_grad(false);
    copy = clone_strided(x, dense_strides(x));
  }
  if (const Ref<Node> node = x.grad_fn()) set_history(copy, node, x.impl()->autograd.output_index);
  return copy;
}

void finish_inplace(const Tensor& x, const Ref<Node>& node) {
  x.bump_version();
  if (!node) return;
  Autograd& a = x.impl()->autograd;
  if (a.view) {
    write_through_view(Tensor(Ref<TensorImpl>::share(end_of_views(x.impl()))), x, node);
  } else {
    node->outputs.resize(1);
    node->outputs[0] = OutputInfo(x);
    set_history(x, node, 0);
  }
  ++view_base(x.impl())->autograd.rebased;
}

}  // namespace dt
