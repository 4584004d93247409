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

class Pointwise : public Call {
 public:
  Views outputs, inputs;  // in the row's order; an output that is not wanted is absent
  int32_t compute;        // the dtype that the formula is computed in
  int32_t n_attributes;

  explicit Pointwise(const dt_call* call)
      : Call(call),
        outputs(calls::outputs(*call)),
        inputs(calls::inputs(*call)),
        compute(static_cast<int32_t>(call->ints[0])),
        n_attributes(call->n_floats),
        wholes_(call->ints + 1),
        reals_(call->floats) {}

  // An attribute, for a formula of floating numbers or of integers.
  double real(int i) const { return reals_[i]; }
  int64_t whole(int i) const { return wholes_[i]; }

  // The call with other attributes.
  Pointwise with(int32_t n, const double* reals, const int64_t* wholes) const {
    Pointwise call = *this;
    call.n_attributes = n, call.reals_ = reals, call.wholes_ = wholes;
    return call;
  }

 private:
  const int64_t* wholes_;
  const double* reals_;
};

}  // namespace dt::calls

// The kernel of a row whose formula is another row's.
#define DT_POINTWISE_SAME(name, other)                                  \
  namespace kernels {                                                   \
  int32_t other(const dt_stream* stream, const calls::Pointwise& call); \
  int32_t name(const dt_stream* stream, const calls::Pointwise& call) { \
    return other(stream, call);                                         \
  }                                                                     \
  }
