// The common iteration space of elementwise operands: broadcast, ordered by memory, with mergeable
// dimensions merged. It does shapes and strides only: promotion, allocation and checks belong to
// the op.
#pragma once

#include "core/runtime/call.h"

namespace dt {

// Makes operand views of one iteration space. Add the outputs first, then the inputs, then call
// `finish`.
class IterationSpace {
 public:
  static constexpr int kMaxOperands = 8;

  explicit IterationSpace(const Dims& sizes) : sizes_(sizes) {}
  void add(const Tensor& t);
  void add(const Scalar& number, DType dtype);
  void add_absent();
  // Orders, drops and merges dimensions, and fills in the views.
  void finish();

  const View& view(int i) const { return views_[i]; }
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
