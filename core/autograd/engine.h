// The gradient engine: walks a graph from its outputs towards its leaves, on the calling thread.
#pragma once

#include <vector>

#include "core/autograd/node.h"

namespace dt {

struct BackwardOptions {
  bool retain_graph = false;  // keep what was saved, so that backward can run again
  bool create_graph = false;  // record the backward itself: its results can be differentiated
};

// torch.autograd.backward: adds d(sum of outputs * grads)/d(leaf) to the grad of every leaf, or
// only of `inputs` if given. An undefined grad means 1 and needs an output of one element.
void run_backward(TensorList outputs, TensorList grads, TensorList inputs, BackwardOptions options);

// torch.autograd.grad: returns the gradients instead. Undefined for an input that the outputs do
// not depend on (an error unless allow_unused).
std::vector<Tensor> run_grad(TensorList outputs, TensorList inputs, TensorList grads,
                             BackwardOptions options, bool allow_unused);

}  // namespace dt
