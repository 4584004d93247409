// Optional operands of a call.
#pragma once

#include <initializer_list>

#include "kernels/abi.h"

namespace dt::cuda {

// An optional operand's memory, or null.
template <class T>
T* optional_data(const dt_view* view) {
  return view ? static_cast<T*>(view->data) : nullptr;
}

// Whether those operands that are there are of a dtype.
inline bool are_of(int32_t dtype, std::initializer_list<const dt_view*> views) {
  for (const dt_view* view : views) {
    if (view && view->dtype != dtype) return false;
  }
  return true;
}

}  // namespace dt::cuda
