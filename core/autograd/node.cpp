#include "core/autograd/node.h"

#include <mutex>

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

Edge gradient_edge(const Tensor& x) {
  Edge edge;
  if (!x.defined() || !x.requires_grad()) return edge;
  Autograd& a = x.impl()->autograd;
  {
    const std::lock_guard<SpinLock> guard(a.lock);
    edge.node = Ref<Node>::share(a.node);
    edge.index = a.output_index;
  }
  if (!edge.node) edge = {Ref<Node>(accumulator_of(x)), 0};
  return edge;
}

Ref<Node> node_of(const Tensor& x) {
  Edge edge = gradient_edge(x);
  DT_CHECK(edge.defined(), kRuntimeError, "the tensor takes no part in a graph");
  return std::move(edge.node);
}

int64_t output_nr(const Tensor& x) {
  return x.is_leaf() ? 0 : gradient_edge(x).index;
}

namespace {

const Edge& edge_at(const Ref<Node>& node, int64_t index) {
  DT_CHECK(0 <= index && index < node->edges.size(), kIndexError, "index ", index,
           " is out of range for ", node->edges.size(), " inputs");
  return node->edges[static_cast<int>(index)];
}

}  // namespace

Ref<Node> next_node(const Ref<Node>& node, int64_t index) {
  const Edge& edge = edge_at(node, index);
  DT_CHECK(edge.defined(), kRuntimeError, "the gradient of input ", index, " goes nowhere");
  return edge.node;
}

int64_t next_output(const Ref<Node>& node, int64_t index) {
  const Edge& edge = edge_at(node, index);
  return edge.defined() ? edge.index : -1;
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

}  // namespace dt
