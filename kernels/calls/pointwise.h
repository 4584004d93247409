// The calls of all elementwise kernels, as core writes them and as kernels read them: the compute
// dtype is the first integer, and each attribute stands among the integers behind it and among the
// floating numbers.
//
// All views have the same sizes, size-1 dimensions are gone, dimensions are ordered by the output's
// strides (the last is the fastest) and merged where all operands allow; a broadcast operand has
// stride 0. Any operand may be immediate and have any dtype, and an output may alias an input. The
// inputs of NAME_backward are grad, then the inputs that the formulas mention, in the signature's
// order, then result if they mention it; its outputs are the gradients of the differentiable
// inputs, absent where they are not needed.
#pragma once

#include "kernels/calls/call.h"

namespace dt::calls {

// What core writes.
struct PointwiseAttributes {
  static constexpr int kMax = 8;

  int64_t ints[1 + kMax];
  double floats[kMax];
  int n = 0;

  explicit PointwiseAttributes(int32_t compute) { ints[0] = compute; }
  void add(int64_t i, double f) {
    ints[1 + n] = i;
    floats[n++] = f;
  }
};

struct Pointwise : Call {
  const dt_view *out, *in;  // as many as the op has; an output that is not wanted is absent
  int32_t compute;          // the dtype that the formula is computed in
  int32_t n_attributes;
  const int64_t* ints;   // the attributes
  const double* floats;  // the same

  explicit Pointwise(const dt_call* call)
      : Call(call),
        out(call->out),
        in(call->in),
        compute(static_cast<int32_t>(call->ints[0])),
        n_attributes(call->n_floats),
        ints(call->ints + 1),
        floats(call->floats) {}
};

}  // namespace dt::calls
