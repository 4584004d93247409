// What a write into a view means for the tensor that it is a view of.
#pragma once

#include "core/autograd/node.h"

namespace dt {

// Makes `inner`, the node of an in-place op on `view` that is connected to its inputs, part of the
// history of `base`, with which the views from `view` on end.
void write_through_view(const Tensor& base, const Tensor& view, const Ref<Node>& inner);

}  // namespace dt
