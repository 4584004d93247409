// The graph: a Node is one recorded op. Its edges lead to what made its inputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/autograd/hooks.h"
#include "core/base/ref.h"
#include "core/base/small_list.h"
#include "core/runtime/stream.h"
#include "core/tensor/tensor.h"

namespace dt {

struct BackwardCall;
class RunningBackward;

// Where the gradient of one input goes: to output `index` of `node`, or nowhere.
struct Edge {
  Ref<Node> node;
  int32_t index = 0;

  bool defined() const { return static_cast<bool>(node); }
};

// The edge along which the gradient of `x` flows. Undefined if x takes no part in a graph.
Edge gradient_edge(const Tensor& x);

// To look at: the node there, which must exist, and an edge's end (-1: nowhere).
Ref<Node> node_of(const Tensor& x);
int64_t output_nr(const Tensor& x);  // 0 for leaves
Ref<Node> next_node(const Ref<Node>& node, int64_t index);
int64_t next_output(const Ref<Node>& node, int64_t index);

// What a gradient must look like when it arrives: see conform() in gradients.h.
struct OutputInfo {
  Dims sizes;
  DType dtype = DType::kDefault;
  Device device = kCpu;
  Ref<Stream> stream;  // of a GPU, that the op ran on; null: the main stream

  OutputInfo() = default;
  explicit OutputInfo(const Tensor& y) : sizes(y.sizes()), dtype(y.dtype()), device(y.device()) {
    if (device != kCpu) stream = Ref<Stream>::share(current_stream(device));
  }
};

class Node : public RefCounted, public Pooled {
 public:
  explicit Node(const char* name, bool owns_name = false) : name(name), owns_name(owns_name) {}
  virtual ~Node() = default;
  virtual void backward(BackwardCall& call) = 0;
  // Drops what was saved for backward; a later backward that needs it is an error.
  virtual void release_saved() = 0;
  // Sets `n` edges; edge_of(i) leads to what made input i. The node's number is taken last, because
  // finding an edge may make a node: a view records itself again when it is asked for
  // (autograd/variable.cpp).
  template <class EdgeOf>
  void connect(int n, EdgeOf edge_of) {
    edges.resize(n);
    for (int i = 0; i < n; ++i) edges[i] = edge_of(i);
    seq = next_seq();
  }
  void connect(TensorList inputs);
  // Frees a graph of any depth without recursion.
  static void destroy(Node* node);

  // "MulBackward0"; that of what is no op's has its namespace: "torch::autograd::AccumulateGrad".
  const char* const name;
  uint64_t seq = 0;  // larger than those that the edges lead to; 0: a leaf has none
  SmallList<Edge, 3> edges;
  SmallList<OutputInfo, 1> outputs;
  Hooks hooks;                       // on the gradients on their way through it
  std::atomic<bool> running{false};  // one backward at a time goes through a node
  const bool owns_name;              // it ends with the node; others last

 private:
  static uint64_t next_seq();
  Node* next_dead_ = nullptr;
};

// The gradient 1 of an output of one element (core/ops/gradients.cpp).
Tensor make_seed(const OutputInfo& output);

// One call of Node::backward: gradients of the outputs come in, gradients of the inputs go out.
struct BackwardCall {
  Node* node;
  Tensor* grads;    // one per output; undefined means zero, or a seed
  Tensor* results;  // one per edge, to be filled where wants(i)
  const bool* wanted;
  bool create_graph;  // the gradients must themselves be differentiable; grad mode is set
                      // accordingly

  // The gradient that backward() itself begins with: 1. It needs no memory before it is asked for.
  bool is_seed = false;

  // Who sends the results along the node's edges; null: somebody else has called.
  RunningBackward* run = nullptr;

  const Tensor& grad() const {
    if (is_seed && !grads[0].defined()) grads[0] = make_seed(node->outputs[0]);
    return grads[0];
  }
  // For formulas that take a number as well.
  Operand grad_operand() const { return is_seed ? Operand(1) : Operand(grads[0]); }
  bool wants(int i) const { return wanted[i]; }

  // A gradient that is constant in what it was found from, as relu's is, leads nowhere, and to
  // differentiate it would be an error. Where a graph is built, these give it a place there, with a
  // derivative of zeros, as PyTorch's has: by the op's inputs, by its result, or by the inputs
  // unless it has a place already.
  Tensor flat_in_inputs(const Tensor& gradient) const;
  Tensor flat_in_result(const Tensor& gradient) const;
  Tensor in_graph(const Tensor& gradient) const;
};

}  // namespace dt
