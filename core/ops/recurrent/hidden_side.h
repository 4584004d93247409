// The side of the hidden state in a recurrent network: addend[t] + h @ weight^T at each time step
// t.
//
// The gradient of the weight is a product for each step, and a sum of them all. Unless a graph of
// the backward is being built, it is one product instead: the addends of all steps are one tensor,
// whose gradient is that of all steps' results, and the node through which it passes multiplies it
// by the hidden states of all steps.
#pragma once

#include <memory>
#include <vector>

#include "core/autograd/saved.h"
#include "core/tensor/tensor.h"

namespace dt {

class HiddenSide {
 public:
  // `addend` [elements, gates * hidden] has batch_sizes[t] rows for step t.
  HiddenSide(const Tensor& addend, const Tensor& weight, IntList batch_sizes);

  // Of step t, whose hidden state h is [batch_sizes[t], hidden]. Each step is taken once.
  Tensor step(int64_t t, const Tensor& h);

 private:
  const Tensor weight_;
  std::vector<Tensor> addends_;
  std::shared_ptr<std::vector<Saved>>
      states_;  // without their history; null: no gradient needs them
};

}  // namespace dt
