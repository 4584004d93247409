#include "core/autograd/view.h"

#include "core/autograd/grad_slot.h"
#include "core/autograd/gradients.h"
#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/autograd/running.h"

namespace dt {
namespace {

// Whether it shows some of the elements, each once, or (kUnfold) in windows.
bool shows_a_part(const ViewRecipe& recipe) {
  return recipe.kind == ViewRecipe::kSlice || recipe.kind == ViewRecipe::kSelect ||
         recipe.kind == ViewRecipe::kDiagonal || recipe.kind == ViewRecipe::kUnfold;
}

// Where one tensor is looked at in parts, the gradients of the second part and the later ones are
// added in their places to what has arrived, not each of them to zeros of the whole size first.
bool add_in_place(const ViewRecipe& recipe, const BackwardCall& b) {
  if (recipe.kind != ViewRecipe::kSlice && recipe.kind != ViewRecipe::kSelect) return false;
  const Tensor* const sum = sum_to_add_to(b, 0);
  if (!sum) return false;
  add_into(apply_recipe(recipe, sum->detach()), b.grad());
  return true;
}

}  // namespace

void record_view_of(TensorImpl* view, const Tensor& parent) {
  const ViewInfo& info = *view->autograd.view;
  const bool is_part = shows_a_part(info.recipe);
  auto backward = [recipe = info.recipe, sizes = parent.sizes(),
                   strides = is_part ? grad_strides(parent) : Dims()](BackwardCall& b) {
    if (!add_in_place(recipe, b)) b.results[0] = unapply_recipe(recipe, b.grad(), sizes, strides);
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
  y.impl()->autograd.view.reset(new ViewInfo{{},
                                             x.ref(),
                                             Ref<TensorImpl>::share(base),
                                             recipe,
                                             node_name,
                                             base->autograd.rebased,
                                             without_grad,
                                             x.impl()->autograd.relooked});
  if (record) record_view_of(y.impl(), x);
  return y;
}

void check_recipe_holds(const ViewInfo& view) {
  DT_CHECK(
      view.seen_relook == view.parent->autograd.relooked, kRuntimeError,
      "a view cannot take part in the graph any more: what it was made from has another shape, "
      "which was changed in place");
}

namespace {

// What x was: x itself is about to become a view of it.
Tensor former(const Tensor& x) {
  const Ref<Node> node = x.grad_fn();  // of a view, brought up to date
  Autograd& a = x.impl()->autograd;
  Tensor was = make_alias(x, x.sizes(), x.strides(), x.offset());
  was.impl()->autograd.view = std::move(a.view);
  if (node) set_history(was, node, a.output_index);
  return was;
}

}  // namespace

const Tensor& look_again(const Tensor& self, const std::function<Tensor(const Tensor&)>& look) {
  check_history_change(self, self.requires_grad());
  // Another look at a base is no view of it, but the base: it has one name only. A leaf stays one.
  const bool is_view = self.impl()->autograd.view != nullptr;
  const GradMode mode(!self.is_leaf());
  look(self);  // refuses what does not fit while nothing has changed
  const Tensor was = is_view ? former(self) : self;
  const Tensor y = look(was);
  Autograd& a = self.impl()->autograd;
  self.set_look(y);
  if (is_view) a.view = std::move(y.impl()->autograd.view);
  if (const Ref<Node> node = y.grad_fn()) set_history(self, node, 0);
  ++a.relooked;
  self.bump_version();
  return self;
}

}  // namespace dt
