// Optional operands of a call.
#pragma once

#include "kernels/abi.h"

namespace dt::cuda {

// An optional operand's memory, or null.
template <class T>
T* optional_data(const dt_view* view) {
  return view ? static_cast<T*>(view->data) : nullptr;
}

}  // namespace dt::cuda
