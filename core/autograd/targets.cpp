#include "core/autograd/targets.h"

#include <algorithm>

namespace dt {

Targets::Targets(TensorList inputs, TensorList outputs) {
  bool fresh;
  for (int64_t i = 0; i < inputs.size(); ++i) {
    DT_CHECK(inputs[i].defined() && inputs[i].requires_grad(), kRuntimeError,
             "One of the differentiated Tensors does not require grad");
    targets_.push_back({gradient_edge(inputs[i]), Tensor()});
    places_.find_or_insert(targets_[i].edge.node.get(), i, &fresh);
  }
  if (!inputs.empty()) mark_needed(outputs);
}

void Targets::keep(const Node* node, const Tensor* grads) {
  for (Target& t : targets_) {
    if (t.edge.node.get() == node) t.grad = grads[t.edge.index];
  }
}

Tensor Targets::take(int64_t i) {
  return std::move(targets_[i].grad);
}

// In the order of their numbers: then it is known of what a node's edges lead to when the node's
// turn comes.
void Targets::mark_needed(TensorList outputs) {
  std::vector<Ref<Node>> roots;
  for (const Tensor& y : outputs) roots.push_back(gradient_edge(y).node);
  PointerMap seen;
  std::vector<Node*> nodes = nodes_behind({roots.data(), outputs.size()}, &seen);
  std::sort(nodes.begin(), nodes.end(), [](Node* a, Node* b) { return a->seq < b->seq; });
  for (Node* node : nodes) {
    bool needed = contain(node), fresh;
    for (const Edge& e : node->edges) needed |= e.defined() && need(e.node.get());
    if (needed) needed_.find_or_insert(node, 1, &fresh);
  }
}

std::vector<Node*> nodes_behind(Span<const Ref<Node>> roots, PointerMap* seen) {
  std::vector<Node*> nodes;
  const auto visit = [&](Node* node) {
    bool fresh = false;
    if (node) seen->find_or_insert(node, 1, &fresh);
    if (fresh) nodes.push_back(node);
  };
  for (const Ref<Node>& root : roots) visit(root.get());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Edge& edge : nodes[i]->edges) visit(edge.node.get());
  }
  return nodes;
}

}  // namespace dt
