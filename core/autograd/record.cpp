#include "core/autograd/record.h"

#include <mutex>

#include "core/autograd/accumulate.h"

namespace dt {

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
  Ref<Node> next = node, old;  // what goes is freed outside the lock
  {
    const std::lock_guard<SpinLock> guard(a.lock);
    old = Ref<Node>::adopt(a.node);
    a.node = next.detach();
    a.output_index = output_index;
    a.requires_grad = false;
    if (a.accumulator) a.accumulator->set_leaf(AccumulateGrad::Leaf::kInterior);
  }
  move_retain_hook(y);
}

Tensor alias(const Tensor& x) {
  return alias_with(x, x);
}

Tensor alias_with(const Tensor& x, const Tensor& elements) {
  return record("AliasBackward0", elements.detach(), {x},
                [](BackwardCall& b) { b.results[0] = b.grad(); });
}

void fail_released() {
  fail(Code::kRuntimeError,
       "Trying to backward through the graph a second time (or directly access saved tensors after "
       "they have already been freed). Saved intermediate values of the graph are freed when you "
       "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
       "through the graph a second time or if you need to access saved tensors after calling "
       "backward.");
}

}  // namespace dt
