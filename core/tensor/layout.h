// The common iteration space of elementwise operands: broadcast, ordered by memory, with mergeable
// dimensions merged. It does shapes and strides only: promotion, allocation and checks belong to
// the op.
#pragma once

#include "core/runtime/backend.h"
#include "core/tensor/tensor.h"

namespace dt {

// Strides with which a tensor of `sizes` and `strides` walks the larger shape `over` (0 where it is
// broadcast).
Dims broadcast_strides(IntList sizes, IntList strides, IntList over);

// Whether two tensors of `sizes` that begin at one place meet the same memory at each element.
bool same_walk(const Dims& sizes, const Dims& a, const Dims& b);

// The strides that PyTorch gives to the result of an elementwise op: dense, with the inputs' order
// of dimensions.
Dims elementwise_strides(const Dims& sizes, TensorList inputs);

// Makes operand views of one iteration space. Add the outputs first, then the inputs, then call
// `finish`.
class Layout {
 public:
  static constexpr int kMaxOperands = 8;

  explicit Layout(const Dims& sizes) : sizes_(sizes) {}
  void add(const Tensor& t);
  void add(const Scalar& number, DType dtype);
  void add_absent();
  // Orders, drops and merges dimensions, and fills in the views.
  void finish();

  Span<const View> views(int first, int count) const { return {views_ + first, count}; }

 private:
  bool is_one_run(int64_t n) const;
  void make_views();
  void order();
  void merge();

  Dims sizes_;
  int n_ = 0;
  const Tensor* tensors_[kMaxOperands];
  Dims strides_[kMaxOperands];
  View views_[kMaxOperands];
};

}  // namespace dt
