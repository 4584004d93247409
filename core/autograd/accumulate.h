// Where a graph ends: the node of a leaf adds the gradient that arrives to .grad.
#pragma once

#include "core/autograd/grad_slot.h"
#include "core/autograd/node.h"

namespace dt {

// It is made once and kept by its tensor; graphs share it. Its number is 0: it runs after all nodes
// that ops made, when every gradient of the leaf has arrived. Hooks of the leaf are its hooks.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  void backward(BackwardCall& call) override;
  void release_saved() override {}

  // After the leaf got other data (x.data = y), or was frozen or thawed.
  void look_at(const Tensor& leaf);
  void set_frozen(bool frozen) { frozen_.store(frozen, std::memory_order_relaxed); }

 private:
  const Ref<GradSlot> slot_;
  Dims strides_;                     // of the gradient's memory
  std::atomic<bool> frozen_{false};  // requires no grad any more, since it was used
};

// The accumulator of a leaf, made if need be.
Ref<Node> accumulator_of(const Tensor& leaf);

}  // namespace dt
