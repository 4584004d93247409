// User functions that see, and may replace, a gradient on its way through the engine.
#pragma once

#include <atomic>
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
  int32_t output;  // of which output of the node
  bool last;       // runs after all others: retain_grad keeps what they made of the gradient
  std::shared_ptr<HookCell> cell;
};

struct HookList {
  SpinLock lock;
  std::vector<HookEntry> entries;
};

// The hooks of a node. Few have any; any thread may add the first.
class Hooks {
 public:
  Hooks() = default;
  ~Hooks() { delete get(); }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  HookList* get() const { return list_.load(std::memory_order_acquire); }  // null: none so far
  HookList& make();

 private:
  std::atomic<HookList*> list_{nullptr};
};

// Hooks live with the node that the gradient arrives at: the tensor may be gone when it does.
// retain_grad's keeps the gradient after all others have seen it, and follows the tensor: when x's
// history has been replaced, it moves to the new node.
void add_retain_hook(const Tensor& x);
void move_retain_hook(const Tensor& x);

// Adds a hook to a tensor that requires grad.
std::weak_ptr<HookCell> add_hook(const Tensor& x, GradHook hook);

// Adds one to a leaf that is called once .grad has grown, with what it is then; what it returns is
// not looked at.
std::weak_ptr<HookCell> add_accumulate_hook(const Tensor& x, GradHook hook);

// The gradient after all hooks for `output` have seen it, in the order they were added, the last
// ones last.
Tensor run_hooks(HookList& list, int32_t output, Tensor grad);

// Has all accumulate hooks see what .grad is.
void run_accumulate_hooks(HookList& list, const Tensor& grad);

}  // namespace dt
