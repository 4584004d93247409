// User functions that see, and may replace, a gradient on its way through the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/tensor/tensor.h"

namespace dt {

// Returns the gradient to go on with; undefined means "unchanged".
using GradHook = std::function<Tensor(const Tensor& grad)>;

// A hook until it is removed. Whoever may remove it holds the cell weakly: that keeps neither the
// tensor nor its graph alive.
struct HookCell {
  SpinLock lock;
  std::shared_ptr<GradHook> hook;  // null once it was removed

  std::shared_ptr<GradHook> get();
  void remove();  // a second time does nothing
};

struct HookEntry {
  int32_t output;  // of which output of the node; 0 for leaves
  bool last;       // runs after all others: retain_grad keeps what they made of the gradient
  std::shared_ptr<HookCell> cell;
};

// Hooks on a leaf live with the tensor, hooks on another tensor with the node that made it: the
// tensor may be gone when its gradient comes by.
struct HookList {
  SpinLock lock;
  std::vector<HookEntry> entries;
};

// Lets retain_grad's hook find its tensor, or find that it is gone. The hook is on the node that is
// the tensor's history, and follows it to another one.
struct RetainCell {
  SpinLock lock;
  TensorImpl* tensor;
  std::weak_ptr<HookCell> hook;
};

// After x's history was replaced: retain_grad's hook goes to the new one.
void move_retain_hook(const Tensor& x);

// Adds a hook to a tensor that requires grad.
std::weak_ptr<HookCell> add_hook(const Tensor& x, GradHook hook);

// The gradient after all hooks for `output` have seen it, in the order they were added, the last
// ones last.
Tensor run_hooks(HookList& list, int32_t output, Tensor grad);

}  // namespace dt
