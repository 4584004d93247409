// The calls of all optimizers, as kernels read them. Which settings and which state there are is in
// kernels/optimizers.gen.h.
#pragma once

#include "kernels/calls/call.h"

namespace dt::calls {

// Of k parameters. The tensors of one of them have its shape and strides, but for its numbers,
// which are one float32 each.
struct Optimizer : Call {
  int64_t k;
  // k of them, then k of each list of state that there is, then k of each number, in the row's
  // order. All are updated in place.
  const dt_view* param;
  Views grad;
  const dt_view& lr;  // one float32 or float64 on the device, or immediate
  // Nothing is done where this is not 0: one floating number on the device, or immediate.
  const dt_view& found_inf;
  const int64_t* flags;   // the settings that are truth values, in the row's order
  const double* numbers;  // the others but for lr, in the row's order

  explicit Optimizer(const dt_call* call)
      : Call(call),
        k(call->n_in - 2),
        param(call->out),
        grad{call->in, k},
        lr(call->in[k]),
        found_inf(call->in[k + 1]),
        flags(call->ints),
        numbers(call->floats) {}
};

}  // namespace dt::calls
