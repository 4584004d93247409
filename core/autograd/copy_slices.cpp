#include "core/autograd/copy_slices.h"

#include <algorithm>

#include "core/autograd/gradients.h"
#include "core/autograd/inplace.h"
#include "core/autograd/view.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// The history of a base after an in-place op on one of its views: the gradient of the base is the
// incoming one, with the view's part replaced by what the op makes of it.
class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> inner)
      : Node("torch::autograd::CopySlices"),
        inner_(std::move(inner)),
        strides_(repeats_memory(base) ? contiguous_strides(base.sizes()) : base.strides()) {
    for (TensorImpl* v = view.impl(); v->autograd.view; v = v->autograd.view->parent.get()) {
      check_recipe_holds(*v->autograd.view);
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
    part = clone_strided(part, dense_strides(part));  // who is given it as a gradient may write it
    BackwardCall inner{inner_.get(), &part, results.data(),
                       reinterpret_cast<const bool*>(wanted.data()), call.create_graph};
    inner_->backward(inner);
    if (call.wants(0)) {
      call.results[0] = like_base(grad);
      fill_place(view_of(call.results[0]), results[0]);
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
  Tensor like_base(const Tensor& grad) const { return clone_strided(grad, strides_); }

  Ref<Node> inner_;
  const Dims strides_;
  std::vector<ViewRecipe> recipes_;  // from the base to the view
};

}  // namespace

void write_through_view(const Tensor& base, const Tensor& view, const Ref<Node>& inner) {
  inner->outputs.resize(1);
  inner->outputs[0] = OutputInfo(view);
  auto node = Ref<Node>::adopt(new CopySlices(base, view, inner));
  node->connect(inner->edges.size(),
                [&](int i) { return i == 0 ? gradient_edge(base) : inner->edges[i]; });
  node->outputs.resize(1);
  node->outputs[0] = OutputInfo(base);
  set_history(base, node, 0);
}

}  // namespace dt
