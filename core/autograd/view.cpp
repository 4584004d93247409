#include "core/autograd/view.h"

#include "core/autograd/record.h"

namespace dt {

void record_view_of(TensorImpl* view, const Tensor& parent) {
  const ViewInfo& info = *view->autograd.view;
  auto backward = [recipe = info.recipe, sizes = parent.sizes()](BackwardCall& b) {
    b.results[0] = unapply_recipe(recipe, b.grad(), sizes);
  };
  auto node = Ref<Node>::adopt(new FunctionNode<decltype(backward)>(info.node_name, backward));
  attach(node, {Tensor(Ref<TensorImpl>::share(view))}, {parent});
}

Tensor make_view(const char* node_name, const Tensor& x, const Dims& sizes, const Dims& strides,
                 int64_t offset, const ViewRecipe& recipe) {
  Tensor y = make_alias(x, sizes, strides, offset);
  const bool record = needs_graph(x);  // also brings x's own node up to date
  TensorImpl* base = view_base(x.impl());
  const ViewInfo* parent = x.impl()->autograd.view.get();
  const bool without_grad = !grad_enabled() || (parent && parent->made_without_grad);
  y.impl()->autograd.view.reset(new ViewInfo{x.ref(), Ref<TensorImpl>::share(base), recipe,
                                             node_name, base->autograd.rebased, without_grad});
  if (record) record_view_of(y.impl(), x);
  return y;
}

}  // namespace dt
