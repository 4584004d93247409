#include "core/autograd/targets.h"

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

// Depth-first without recursion: a node is needed if it is a target's or an edge of it leads to
// something needed.
void Targets::mark_needed(TensorList outputs) {
  struct Frame {
    Node* node;
    int next;
    bool needed;
  };
  std::vector<Frame> stack;
  PointerMap visited;
  bool fresh;
  const auto enter = [&](Node* node) {
    visited.find_or_insert(node, 1, &fresh);
    if (fresh) stack.push_back({node, 0, contain(node)});
  };
  for (const Tensor& y : outputs) {
    const Edge output = gradient_edge(y);
    enter(output.node.get());
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.next < f.node->edges.size()) {
        const Edge& e = f.node->edges[f.next];
        const bool unvisited = e.defined() && visited.find(e.node.get()) < 0;
        if (unvisited) {
          enter(e.node.get());  // f is invalid now; this edge is looked at again afterwards
          continue;
        }
        f.needed |= e.defined() && need(e.node.get());
        ++f.next;
        continue;
      }
      if (f.needed) needed_.find_or_insert(f.node, 1, &fresh);
      stack.pop_back();
    }
  }
}

std::unique_ptr<PointerMap> nodes_behind(Span<const Ref<Node>> roots) {
  auto seen = std::make_unique<PointerMap>();
  std::vector<Node*> next;
  const auto visit = [&](Node* node) {
    bool fresh = false;
    if (node) seen->find_or_insert(node, 1, &fresh);
    if (fresh) next.push_back(node);
  };
  for (const Ref<Node>& root : roots) visit(root.get());
  while (!next.empty()) {
    Node* const node = next.back();
    next.pop_back();
    for (const Edge& edge : node->edges) visit(edge.node.get());
  }
  return seen;
}

}  // namespace dt
