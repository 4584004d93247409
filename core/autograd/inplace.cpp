#include "core/autograd/inplace.h"

#include <algorithm>

#include "core/autograd/view.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"

namespace dt {
namespace {

constexpr const char* kViewMadeWithoutGrad =
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
    "Given that this use case is "
    "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
    "and the inplace either "
    "both inside the no_grad block (if you don't want the inplace to be tracked) or both outside "
    "(if you want the inplace "
    "to be tracked).";

// The history of a base after an in-place op on one of its views: the gradient of the base is the
// incoming one, with the view's part replaced by what the op makes of it.
class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> inner)
      : Node("CopySlices"),
        inner_(std::move(inner)),
        strides_(repeats_memory(base) ? contiguous_strides(base.sizes()) : base.strides()) {
    for (TensorImpl* v = view.impl(); v->autograd.view; v = v->autograd.view->parent.get()) {
      recipes_.push_back(v->autograd.view->recipe);
      if (recipes_.back().kind != ViewRecipe::kAsStrided) continue;
      recipes_.back().start -= base.offset();  // the gradient's memory begins with the base
      break;                                   // it looks at the memory, whatever views lie between
    }
    std::reverse(recipes_.begin(), recipes_.end());
  }

  void backward(BackwardCall& call) override {
    if (!inner_) fail_released();
    const Tensor& grad = call.grad();
    std::vector<Tensor> results(inner_->edges.size());
    // What an input without a graph would need for its gradient was never saved.
    std::vector<char> wanted(inner_->edges.size());
    for (int i = 0; i < edges.size(); ++i) wanted[i] = call.wants(i);
    Tensor part = view_of(looks_at_memory() ? like_base(grad) : grad);
    BackwardCall inner{inner_.get(), &part, results.data(),
                       reinterpret_cast<const bool*>(wanted.data()), call.create_graph};
    inner_->backward(inner);
    if (call.wants(0)) {
      const Tensor whole = like_base(grad);
      const Tensor hole = view_of(whole);
      if (results[0].defined())
        copy_(hole, results[0]);
      else
        zero_(hole);
      call.results[0] = whole;
    }
    for (int i = 1; i < edges.size(); ++i) call.results[i] = results[i];
  }

  // What the op saved is not dropped here: after a backward with create_graph, the op may be a node
  // of its own in the graph of the gradients, where its turn comes later.
  void release_saved() override { inner_ = Ref<Node>(); }

 private:
  // Whether the first recipe counts places in memory, not elements.
  bool looks_at_memory() const { return recipes_.front().kind == ViewRecipe::kAsStrided; }

  Tensor view_of(Tensor base) const {
    for (const ViewRecipe& r : recipes_) base = apply_recipe(r, base);
    return base;
  }

  // A copy of the gradient in the base's memory order: only there is each recipe a view again.
  Tensor like_base(const Tensor& grad) const {
    const Tensor copy = make_empty_strided(grad.sizes(), strides_, grad.dtype(), grad.device());
    return copy_(copy, grad);
  }

  Ref<Node> inner_;
  const Dims strides_;
  std::vector<ViewRecipe> recipes_;  // from the base to the view
};

// What the views from `x` on lead to. That is not view_base(x) if one of them has left the graph
// since, by detach_: then it is a base of its own.
TensorImpl* end_of_views(TensorImpl* x) {
  while (x->autograd.view) x = x->autograd.view->parent.get();
  return x;
}

void rebase(const Tensor& view, const Ref<Node>& inner) {
  const Tensor base(Ref<TensorImpl>::share(end_of_views(view.impl())));
  auto node = Ref<Node>::adopt(new CopySlices(base, view, inner));
  node->connect(inner->edges.size(),
                [&](int i) { return i == 0 ? gradient_edge(base) : inner->edges[i]; });
  inner->outputs.resize(1);
  inner->outputs[0] = OutputInfo(view);
  node->outputs.resize(1);
  node->outputs[0] = OutputInfo(base);
  set_history(base, node, 0);
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
           "single memory location. "
           "Please clone() the tensor before performing the operation.");
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
    copy = clone(x);
  }
  if (const Ref<Node> node = x.grad_fn()) set_history(copy, node, x.impl()->autograd.output_index);
  return copy;
}

void finish_inplace(const Tensor& x, const Ref<Node>& node) {
  x.bump_version();
  if (!node) return;
  Autograd& a = x.impl()->autograd;
  if (a.view) {
    rebase(x, node);
  } else {
    node->outputs.resize(1);
    node->outputs[0] = OutputInfo(x);
    set_history(x, node, 0);
  }
  ++view_base(x.impl())->autograd.rebased;
}

}  // namespace dt
