// User functions that see, and may replace, gradients on their way through the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/tensor/callbacks.h"
#include "core/tensor/tensor.h"

namespace dt {

// Returns the gradient to go on with; undefined means "unchanged".
using GradHook = std::function<Tensor(const Tensor& grad)>;

// Sees all gradients of a node at once: those of its outputs, or those of its inputs and what
// arrived for them. Returns what takes the places of the first; none at all means "unchanged".
using NodeHook = CustomBackward;

// A hook until it is removed. Whoever may remove it holds the cell weakly: that keeps neither the
// tensor nor its graph alive.
struct HookCell {
  SpinLock lock;
  std::shared_ptr<void> hook;  // what its entry says; null once it was removed

  std::shared_ptr<void> get();
  void remove();  // a second time does nothing
};

// Hooks that are not called with the gradient of one output.
enum OtherHooks : int32_t {
  kBeforeNode = -1,   // a NodeHook, on the gradients of the outputs
  kAfterNode = -2,    // a NodeHook, on the gradients of the inputs
  kAccumulated = -3,  // a GradHook, on what .grad has become
};

struct HookEntry {
  int32_t output;  // of the node, whose gradient the GradHook sees; or one of OtherHooks
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
  ~Hooks() {
    if (get()) clear();
  }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  HookList* get() const { return list_.load(std::memory_order_acquire); }  // null: none so far
  HookList& make();

 private:
  void clear();
  std::atomic<HookList*> list_{nullptr};
};

// Hooks live with the node that the gradient arrives at: the tensor may be gone when it does.
// retain_grad's keeps the gradient after all others have seen it, and follows the tensor: when x's
// history has been replaced, it moves to the new node.
void add_retain_hook(const Tensor& x);
void move_retain_hook(const Tensor& x);

// Adds a hook to a tensor that requires grad.
std::weak_ptr<HookCell> add_hook(const Tensor& x, GradHook hook);

// Adds one to a node: whether it is called before the node's backward or after it.
std::weak_ptr<HookCell> add_node_hook(const Ref<Node>& node, NodeHook hook, bool before);

// Adds one to a leaf that is called once .grad has grown, with what it is then; what it returns is
// not looked at.
std::weak_ptr<HookCell> add_accumulate_hook(const Tensor& x, GradHook hook);

// The gradient after all hooks for `output` have seen it, in the order they were added, the last
// ones last.
Tensor run_hooks(HookList& list, int32_t output, Tensor grad);

bool has_hooks(const Hooks& hooks, OtherHooks kind);

// Has the NodeHooks of that kind see the gradients, in the order they were added, and puts what
// they give back in their places.
void run_node_hooks(const Hooks& hooks, OtherHooks kind, Span<Tensor> grads, TensorList arrived);

// Has all accumulate hooks see what .grad is.
void run_accumulate_hooks(const Hooks& hooks, const Tensor& grad);

}  // namespace dt
