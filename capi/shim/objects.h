// Objects that exist only behind handles.
#pragma once

#include "core/autograd/hooks.h"
#include "core/tensor/tensor.h"

namespace dt::capi {

// A hook that was added to a tensor, which it does not keep alive.
struct Hook {
  std::weak_ptr<HookCell> cell;
  void remove() const {
    if (const auto held = cell.lock()) held->remove();
  }
};

}  // namespace dt::capi
