// Views. A view is made by a typed recipe, kept so that its gradient can be taken in logical
// coordinates and so that it can be made again from a base whose history changed (after an in-place
// op).
#pragma once

#include <atomic>
#include <functional>

#include "core/autograd/node.h"

namespace dt {

struct ViewRecipe {
  enum Kind : uint8_t {
    kPermute,   // dims: the order
    kReshape,   // dims: the new sizes
    kSlice,     // dim, start, step; dims[0]: the length
    kSelect,    // dim, start: the index
    kExpand,    // dims: the new sizes
    kDiagonal,  // dim, dim2; start: the offset
    kUnfold,    // dim, step; start: the size of a window
    kAsStrided  // dims, strides, start: the view; source_strides, source_start: what it was made
                // from
  };
  Kind kind;
  int dim = 0, dim2 = 0;
  int64_t start = 0, step = 1;
  Dims dims, strides;
  Dims source_strides;
  int64_t source_start = 0;
};

struct ViewInfo : Pooled {
  Ref<TensorImpl> parent;  // what the recipe was applied to: itself a view, or the base
  Ref<TensorImpl> base;    // what the chain of views began with
  ViewRecipe recipe;
  const char* node_name;
  std::atomic<uint32_t> seen_rebase;  // the base's `rebased` when this view's node was made
  bool made_without_grad;             // it, or a view that it was made from
  uint32_t seen_relook;               // the parent's `relooked` when this view was made
};

// Applies the recipe, as an op with a gradient. This function and the next are made of ops, in
// core/ops/views/recipes.cpp.
Tensor apply_recipe(const ViewRecipe& recipe, const Tensor& x);
// The gradient of apply_recipe: `grad` put back into a tensor of the input's sizes, differentiably;
// where it is a part of that, into new memory with these strides.
Tensor unapply_recipe(const ViewRecipe& recipe, const Tensor& grad, const Dims& input_sizes,
                      const Dims& input_strides);

// Another look at x's storage, recorded as `recipe`. The op has computed sizes and strides already.
Tensor make_view(const char* node_name, const Tensor& x, const Dims& sizes, const Dims& strides,
                 int64_t offset, const ViewRecipe& recipe);

// Records `view` as its recipe applied to `parent`.
void record_view_of(TensorImpl* view, const Tensor& parent);

// `self` becomes the view of itself that look(what it was) is, in place: `self` in another shape,
// with its place in the graph. Views that were made of it before stay as they are.
const Tensor& look_again(const Tensor& self, const std::function<Tensor(const Tensor&)>& look);

// Refuses a view of what has another shape by now: its recipe means nothing there any more.
void check_recipe_holds(const ViewInfo& view);

// The tensor that a chain of views began with, or x itself.
inline TensorImpl* view_base(TensorImpl* x) {
  return x->autograd.view ? x->autograd.view->base.get() : x;
}

}  // namespace dt
