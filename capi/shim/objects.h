// Objects that exist only behind handles.
#pragma once

#include "core/autograd/hooks.h"
#include "core/tensor/tensor.h"

namespace dt::capi {

// A hook that was added to a tensor.
struct Hook {
  Tensor tensor;
  int64_t id = 0;
  void remove() const { remove_hook(tensor, id); }
};

}  // namespace dt::capi
