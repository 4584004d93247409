// In-place ops write the existing storage, always: NumPy memory and every view see it. An in-place
// op does, in order:
//   check_inplace(x, ...);  keep what its gradient needs (history_clone);  write; finish_inplace(x,
//   node or null)
#pragma once

#include "core/autograd/record.h"

namespace dt {

// Whether x is expanded: several of its elements are one place in memory.
bool repeats_memory(const Tensor& x);

// PyTorch's refusals: leaves that require grad, expanded memory, views made without grad mode.
// `recorded`: whether the op will become part of the graph.
void check_inplace(const Tensor& x, bool recorded);
// The refusals that concern the graph, not memory: all that there are for ops that may write
// expanded memory, or that change x's shape alone.
void check_history_change(const Tensor& x, bool recorded);

// A copy of x's elements with x's place in the graph: what a formula saves before x is overwritten.
Tensor history_clone(const Tensor& x);

// Marks x as changed. `node` (connected to the inputs, x first) becomes x's history, and through
// the base the history of every view of the same memory. A null node means that nothing was
// recorded.
void finish_inplace(const Tensor& x, const Ref<Node>& node);

// The whole sequence for an op whose backward needs no old value of x.
template <class Write, class Backward>
void inplace(const char* name, const Tensor& x, TensorList inputs, Write write, Backward backward) {
  const bool recorded = is_floating(x.dtype()) && needs_graph(inputs);  // as attach() does
  check_inplace(x, recorded);
  Ref<Node> node;
  if (recorded) {
    node = Ref<Node>::adopt(new FunctionNode<Backward>(name, std::move(backward)));
    node->connect(inputs);
  }
  write();
  finish_inplace(x, node);
}

}  // namespace dt
