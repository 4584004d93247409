#include "core/autograd/accumulate.h"

#include <mutex>

namespace dt {

AccumulateGrad::AccumulateGrad(const Tensor& leaf)
    : Node("torch::autograd::AccumulateGrad"), slot_(grad_slot(leaf)) {
  outputs.resize(1);
  look_at(leaf);
}

void AccumulateGrad::look_at(const Tensor& leaf) {
  outputs[0] = OutputInfo(leaf);
  strides_ = grad_strides(leaf);
}

void AccumulateGrad::backward(BackwardCall& call) {
  const Leaf leaf = leaf_.load(std::memory_order_relaxed);
  DT_CHECK(leaf != Leaf::kInterior, kRuntimeError,
           "leaf variable has been moved into the graph interior");
  if (leaf == Leaf::kFrozen) return;
  call.grad();  // a seed gets its memory
  add(std::move(call.grads[0]), call.create_graph);
}

void AccumulateGrad::add(Tensor grad, bool create_graph) {
  const Tensor sum = slot_->accumulate(std::move(grad), strides_, create_graph);
  if (hooks.get()) run_accumulate_hooks(hooks, sum);
}

Ref<AccumulateGrad> accumulator_of(const Tensor& leaf) {
  Autograd& a = leaf.impl()->autograd;
  {
    const std::lock_guard<SpinLock> guard(a.lock);
    if (a.accumulator) return Ref<AccumulateGrad>::share(a.accumulator);
  }
  auto fresh = Ref<AccumulateGrad>::adopt(new AccumulateGrad(leaf));
  const std::lock_guard<SpinLock> guard(a.lock);
  if (!a.accumulator) a.accumulator = fresh.detach();  // another thread may have been first
  return Ref<AccumulateGrad>::share(a.accumulator);
}

}  // namespace dt
