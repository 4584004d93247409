// What a backward was asked for, where that is not all: torch.autograd.grad, and backward with
// inputs. Nodes that lie behind no target need not run.
#pragma once

#include <vector>

#include "core/autograd/node.h"
#include "core/base/pointer_map.h"

namespace dt {

class Targets {
 public:
  // Empty lists of inputs ask for nothing.
  Targets(TensorList inputs, TensorList outputs);

  // Whether a gradient that arrives at the node is of use.
  bool need(const Node* node) { return needed_.find(node) >= 0; }
  // Whether an input is one of the node's outputs.
  bool contain(const Node* node) { return places_.find(node) >= 0; }
  // Keeps the gradients of those.
  void keep(const Node* node, const Tensor* grads);

  // The gradient of input i; undefined: none arrived.
  const Tensor& found(int64_t i) const { return targets_[i].grad; }
  Tensor take(int64_t i);

 private:
  struct Target {
    Edge edge;
    Tensor grad;
  };
  void mark_needed(TensorList outputs);

  std::vector<Target> targets_;  // one for each input
  PointerMap needed_;            // nodes that a target lies at or behind
  PointerMap places_;            // node of a target
};

// The nodes that edges lead to from any of these, and these themselves; null ones count for
// nothing.
std::vector<Node*> nodes_behind(Span<const Ref<Node>> roots, PointerMap* seen);

}  // namespace dt
