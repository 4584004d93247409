// What can be wrong with a backward, in PyTorch's words.
#pragma once

#include "core/autograd/node.h"

namespace dt {

// Outputs require grad; gradients fit them, or are left out for outputs of one element.
void check_outputs(TensorList outputs, TensorList grads);
void check_used(int64_t input, bool used);
// What a node's backward gave: shapes (the node may be the user's) and, in anomaly mode, NaN.
void check_results(const BackwardCall& call);

// One backward at a time goes through a node: another thread's is an error. Only in a leaf's do
// graphs of several threads meet, and it sees to that itself.
class OneAtATime {
 public:
  explicit OneAtATime(Node& node);
  ~OneAtATime() { node_.running.store(false, std::memory_order_release); }
  OneAtATime(const OneAtATime&) = delete;

 private:
  Node& node_;
};

}  // namespace dt
