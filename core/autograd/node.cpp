#include "core/autograd/node.h"

#include "core/autograd/accumulate.h"
#include "core/autograd/gradients.h"
#include "core/autograd/record.h"
#include "core/runtime/thread.h"

namespace dt {

uint64_t Node::next_seq() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void Node::connect(TensorList inputs) {
  connect(static_cast<int>(inputs.size()), [&](int i) { return gradient_edge(inputs[i]); });
}

// Deleting a node drops its edges and saved tensors, which may drop further nodes: these are queued
// and deleted by the outermost call, so that a graph a million nodes deep needs no deep stack.
void Node::destroy(Node* node) {
  Thread& thread = this_thread;
  node->next_dead_ = thread.dead_nodes;
  thread.dead_nodes = node;
  if (thread.is_freeing_nodes) return;
  thread.is_freeing_nodes = true;
  while (thread.dead_nodes) {
    Node* n = thread.dead_nodes;
    thread.dead_nodes = n->next_dead_;
    delete n;
  }
  thread.is_freeing_nodes = false;
}

bool needs_graph(TensorList inputs) {
  if (!grad_enabled()) return false;
  for (const Tensor& x : inputs) {
    if (x.defined() && x.requires_grad()) return true;
  }
  return false;
}

void attach(const Ref<Node>& node, TensorList outputs, TensorList inputs) {
  node->connect(inputs);
  node->outputs.resize(static_cast<int>(outputs.size()));
  for (int i = 0; i < node->outputs.size(); ++i) {
    const Tensor& y = outputs[i];
    if (!y.defined() || !is_floating(y.dtype())) continue;
    node->outputs[i] = OutputInfo(y);
    set_history(y, node, i);
  }
}

void set_history(const Tensor& y, const Ref<Node>& node, int output_index) {
  Autograd& a = y.impl()->autograd;
  Ref<Node> next = node, old;
  a.lock.lock();
  old = Ref<Node>::adopt(a.node);
  a.node = next.detach();
  a.output_index = output_index;
  a.requires_grad = false;
  if (a.accumulator) a.accumulator->set_leaf(AccumulateGrad::Leaf::kInterior);
  a.lock.unlock();
  move_retain_hook(y);
}

// `gradient` with a place in the graph: its derivative is zero by what the `n` edges lead to.
template <class EdgeOf>
static Tensor flat(const Tensor& gradient, int n, EdgeOf edge_of) {
  auto backward = [](BackwardCall& b) {
    if (b.wants(0)) b.results[0] = b.grad();
    for (int i = 1; i < b.node->edges.size(); ++i) {
      const Edge& input = b.node->edges[i];
      if (b.wants(i)) b.results[i] = make_zeros(input.node->outputs[input.index]);
    }
  };
  auto node = Ref<Node>::adopt(new FunctionNode<decltype(backward)>("FlatBackward0", backward));
  node->connect(1 + n, [&](int i) { return i == 0 ? gradient_edge(gradient) : edge_of(i - 1); });
  const Tensor y = gradient.detach();
  node->outputs.resize(1);
  node->outputs[0] = OutputInfo(y);
  set_history(y, node, 0);
  return y;
}

Tensor alias(const Tensor& x) {
  return alias_with(x, x);
}

Tensor alias_with(const Tensor& x, const Tensor& elements) {
  return record("AliasBackward0", elements.detach(), {x},
                [](BackwardCall& b) { b.results[0] = b.grad(); });
}

Tensor BackwardCall::flat_in_inputs(const Tensor& gradient) const {
  if (!create_graph) return gradient;
  return flat(gradient, node->edges.size(), [this](int i) { return node->edges[i]; });
}

Tensor BackwardCall::in_graph(const Tensor& gradient) const {
  return gradient.defined() && !gradient.requires_grad() ? flat_in_inputs(gradient) : gradient;
}

Tensor BackwardCall::flat_in_result(const Tensor& gradient) const {
  if (!create_graph) return gradient;
  return flat(gradient, 1, [this](int) { return Edge{Ref<Node>::share(node), 0}; });
}

void fail_released() {
  fail(Code::kRuntimeError,
       "Trying to backward through the graph a second time (or directly access saved tensors after "
       "they have already "
       "been freed). Saved intermediate values of the graph are freed when you call .backward() or "
       "autograd.grad(). "
       "Specify retain_graph=True if you need to backward through the graph a second time or if "
       "you need to access "
       "saved tensors after calling backward.");
}

}  // namespace dt
