// Where a tensor's gradient lies: x.grad. The tensor shares it with whoever adds to it, the node in
// which a graph ends (accumulate.h) or the hook of retain_grad: none of these needs the other to be
// there still.
#pragma once

#include "core/runtime/thread.h"
#include "core/tensor/tensor.h"

namespace dt {

class GradSlot : public RefCounted, public Pooled {
 public:
  static void destroy(GradSlot* slot) { delete slot; }

  Tensor get() const;  // undefined: no gradient
  void set(Tensor grad);
  Ref<TensorImpl> take();  // leaves none
  // Adds `grad` to what is there, which others see meanwhile, and gives back the sum. Threads add
  // one after the other. The first gradient gets these strides, and may be kept as it is if nobody
  // else can see it. With `create_graph` the sum is a new tensor, with a graph.
  Tensor accumulate(Tensor grad, const Dims& strides, bool create_graph);
  // The same for a gradient that goes on to others: it is copied, and a sum is a new tensor.
  void add_copy(const Tensor& grad);

 private:
  class Adding;

  // Puts sum(what is there, grad) in its place. If that fails, what was there stays.
  template <class Sum>
  Tensor update(Tensor grad, const Sum& sum);
  bool replace(const Tensor& before, const Tensor& after);  // false: something else is there

  mutable SpinLock lock_;  // for a moment: the pointer
  SpinLock adding_;        // for as long as a sum takes
  std::atomic<const Thread*> adder_{nullptr};
  Tensor grad_;
};

// The slot of x, made if need be.
Ref<GradSlot> grad_slot(const Tensor& x);

// How the memory of x.grad is laid out: like that of x, or row-major where x has gaps or repeats.
Dims grad_strides(const Tensor& x);

}  // namespace dt
