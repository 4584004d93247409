// Optional operands of a call.
#pragma once

#include "kernels/abi.h"

namespace dt::cuda {

// An optional operand's memory, or null.
template <class T>
T* optional_data(const dt_view* view) {
  return view ? static_cast<T*>(view->data) : nullptr;
}

inline bool wants(const dt_call* call, int which) {
  return which < call->n_out && call->out[which].dtype != 0;
}

// An optional output, or null if it is not wanted.
template <class T>
T* optional_output(const dt_call* call, int which) {
  return wants(call, which) ? static_cast<T*>(call->out[which].data) : nullptr;
}

// An input, or null if it is absent.
template <class T>
const T* optional_input(const dt_call* call, int which) {
  const bool present = which < call->n_in && call->in[which].dtype != 0;
  return present ? static_cast<const T*>(call->in[which].data) : nullptr;
}

}  // namespace dt::cuda
