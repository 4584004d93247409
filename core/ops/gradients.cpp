// What the engine does with gradients, in ops.
#include "core/autograd/gradients.h"

#include <algorithm>
#include <map>

#include "core/autograd/view.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {

Tensor make_seed(const OutputInfo& output) {
  return full(output.sizes, 1, output.dtype, output.device);
}

Tensor make_zeros(const OutputInfo& like) {
  return zeros(like.sizes, like.dtype, like.device);
}

Tensor conform(Tensor grad, const OutputInfo& to) {
  if (grad.sizes() != to.sizes) grad = sum_to(grad, to.sizes);
  if (grad.dtype() != to.dtype || grad.device() != to.device)
    grad = dt::to(grad, to.device, to.dtype);
  return grad;
}

Tensor widened(const Tensor& x) {
  return x.defined() && is_narrow(x.dtype()) ? to_dtype(x, info(x.dtype()).compute) : x;
}

Dims dims_without(const Tensor& x, IntList sizes) {
  const int extra = x.ndim() - static_cast<int>(sizes.size());
  Dims dims;
  for (int d = 0; d < x.ndim(); ++d) {
    if (d < extra || (sizes[d - extra] == 1 && x.sizes()[d] != 1)) dims.push_back(d);
  }
  return dims;
}

Tensor sum_to(const Tensor& x, const Dims& sizes) {
  if (x.sizes() == sizes) return x;
  const int extra = x.ndim() - sizes.size();
  const Dims dims = dims_without(x, sizes);
  // Leading dimensions alone go away with the sum; the result is then no view, and may become
  // .grad.
  const Tensor y = dims.empty() ? x : sum(x, IntList(dims), dims.size() > extra);
  return y.sizes() == sizes ? y : reshape(y, sizes);
}

bool may_add_into(const Tensor& a) {
  return !grad_enabled() && is_sole_owner(a) && is_dense(a.sizes(), a.strides());
}

Tensor add_gradients(Tensor a, const Tensor& b) {
  if (!may_add_into(a)) return add(a, b);
  add_(a, b);
  return a;
}

void add_into(const Tensor& sum, const Tensor& grad) {
  add_(sum, grad);
}

void fill_place(const Tensor& place, const Tensor& part) {
  if (part.defined())
    copy_(place, part);
  else
    zero_(place);
}

bool has_nan(const Tensor& grad) {
  if (!is_floating(grad.dtype())) return false;
  const GradMode no_grad(false);
  const Tensor x = grad.detach();
  return item(any(ne(x, x))).to_bool();
}

bool are_sole_owners(const Tensor* parts, size_t count) {
  struct Seen {
    int32_t references = 0;
    bool is_followed = false;
  };
  std::map<TensorImpl*, Seen> all;  // who shows the memory
  for (size_t i = 0; i < count; ++i) {
    TensorImpl* x = parts[i].impl();
    ++all[x].references;
    while (!all[x].is_followed) {
      all[x].is_followed = true;
      const ViewInfo* const view = x->autograd.view.get();
      if (!view) break;
      x = view->parent.get();
      ++all[x].references;
      ++all[view->base.get()].references;
    }
  }
  const auto is_ours = [](const auto& entry) {
    return entry.first->use_count() == entry.second.references;
  };
  return std::all_of(all.begin(), all.end(), is_ours) &&
         parts[0].storage()->use_count() == static_cast<int32_t>(all.size());
}

bool is_sole_owner(const Tensor& x) {
  return x.ref()->use_count() == 1 && x.storage()->use_count() == 1 && !x.impl()->autograd.view;
}

}  // namespace dt
