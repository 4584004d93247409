// Where a tensor's gradient lies: x.grad. The tensor shares it with whoever adds to it, the node in
// which a graph ends (accumulate.h) or the hook of retain_grad: none of these needs the other to be
// there still.
#pragma once

#include "core/tensor/tensor.h"

namespace dt {

class GradSlot : public RefCounted, public Pooled {
 public:
  static void destroy(GradSlot* slot) { delete slot; }

  Tensor get() const;  // undefined: no gradient
  void set(Tensor grad);
  Ref<TensorImpl> take();  // leaves none
  // Adds `grad` to what is there; two threads may do so at once, and both count: no lock is held
  // while a kernel or a hook runs, but who adds takes the gradient out for so long. The first
  // gradient gets these strides, and may be kept as it is if nobody else can see it. With
  // `create_graph` the sum is a new tensor, with a graph.
  void accumulate(Tensor grad, const Dims& strides, bool create_graph);
  // The same for a gradient that goes on to others: it is copied, and a sum is a new tensor.
  void add_copy(const Tensor& grad);

 private:
  // Puts sum(first) back, where `first` is what is there, and sum(...) of that and whatever others
  // have left meanwhile. If a sum fails, what was there before it stays.
  template <class Sum>
  void update(Tensor grad, const Sum& sum);
  bool put(const Tensor& grad);  // false: another thread has left its own

  mutable SpinLock lock_;  // for a moment: the pointer
  Tensor grad_;
};

// The slot of x, made if need be.
Ref<GradSlot> grad_slot(const Tensor& x);

// How the memory of x.grad is laid out: like that of x, or row-major where x has gaps or repeats.
Dims grad_strides(const Tensor& x);

}  // namespace dt
