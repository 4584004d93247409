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

  // Adds to .grad, and has them see it.
  void add(Tensor grad, bool create_graph);

  // What became of the leaf since it was used.
  enum class Leaf : uint8_t {
    kTrained,
    kFrozen,    // requires no grad any more
    kInterior,  // was written by an op that is recorded: no leaf
  };
  void set_leaf(Leaf leaf) { leaf_.store(leaf, std::memory_order_relaxed); }
  // After the leaf got other data (x.data = y).
  void look_at(const Tensor& leaf);

 private:
  const Ref<GradSlot> slot_;
  Dims strides_;  // of the gradient's memory
  std::atomic<Leaf> leaf_{Leaf::kTrained};
};

// The accumulator of a leaf, made if need be.
Ref<AccumulateGrad> accumulator_of(const Tensor& leaf);

}  // namespace dt
