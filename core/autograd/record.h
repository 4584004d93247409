// Recording: a differentiable op ends with `return record(...)`.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "core/autograd/node.h"
#include "core/autograd/saved.h"
#include "core/runtime/context.h"

namespace dt {

// Whether an op on these inputs must be recorded. Undefined inputs do not count.
inline bool needs_graph(const Tensor& x) {
  return grad_enabled() && x.defined() && x.requires_grad();
}
bool needs_graph(TensorList inputs);

// Fills in the node's edges and outputs and makes the outputs its results. Integer outputs stay
// outside the graph.
void attach(const Ref<Node>& node, TensorList outputs, TensorList inputs);

// Makes `y` output number `output_index` of `node`, in place of whatever history it had.
void set_history(const Tensor& y, const Ref<Node>& node, int output_index);

[[noreturn]] void fail_released();

// A node whose backward is a function object, void(BackwardCall&). What it keeps, it captures;
// tensors as Saved.
template <class Backward>
class FunctionNode final : public Node {
 public:
  FunctionNode(const char* name, Backward backward) : Node(name), backward_(std::move(backward)) {}
  void backward(BackwardCall& call) override {
    if (!backward_) fail_released();
    (*backward_)(call);
  }
  void release_saved() override {
    if constexpr (!std::is_trivially_destructible_v<Backward>) backward_.reset();
  }

 private:
  std::optional<Backward> backward_;
};

template <class Backward>
void record_all(const char* name, TensorList outputs, TensorList inputs, Backward backward) {
  if (!needs_graph(inputs)) return;
  using N = FunctionNode<Backward>;
  attach(Ref<Node>::adopt(new N(name, std::move(backward))), outputs, inputs);
}

// Records `y` as made from `inputs`. An op that saves tensors asks `needs_graph` first, so that
// nothing is kept in vain.
template <class Backward>
Tensor record(const char* name, const Tensor& y, TensorList inputs, Backward backward) {
  record_all(name, TensorList(&y, 1), inputs, std::move(backward));
  return y;
}

// The same elements as a node of their own in the graph: gradients can be taken with respect to it.
Tensor alias(const Tensor& x);
// Other elements in the place of x in the graph: those that x had before it was written.
Tensor alias_with(const Tensor& x, const Tensor& elements);

}  // namespace dt
