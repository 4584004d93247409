// Dropout keeps no mask: the state of the generator and the place in its sequence say which
// elements were dropped, so the gradient draws the same numbers again. It is linear, so it is its
// own derivative.
#pragma once

#include "core/runtime/generator.h"

namespace dt {

// Dropout with 0 < p < 1 of floats, with numbers that have been reserved. They are drawn in
// row-major order, whatever the order in memory, which is the input's.
Tensor dropout_at(const Tensor& input, double p, const Generator::Draw& at);

}  // namespace dt
