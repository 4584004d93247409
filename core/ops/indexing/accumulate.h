// What ops share that add to a tensor at positions.
#pragma once

#include "core/autograd/node.h"
#include "core/ops/creation.gen.h"
#include "core/runtime/context.h"

namespace dt {

inline Tensor without_record(const Tensor& x) {
  const GradMode no_grad(false);
  return clone(x);
}

// The record of what is added to self where nothing of it is kept.
inline void pass_gradient(BackwardCall& b) {
  b.results[0] = b.grad();
}

}  // namespace dt
