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

// The backward by self of an op that adds to it: what arrives goes on, and nothing is kept.
inline void pass_gradient(BackwardCall& b) {
  b.results[0] = b.grad();
}

// The part of src that the index reaches. A view, so that the rest of src gets a zero gradient.
Tensor reached_part(Tensor src, const Tensor& index);
// scatter_ or, if it accumulates, scatter_add_ of what is at least 1-d, without a record.
void write_scatter(const Tensor& self, int dim, const Tensor& index, const Operand& src,
                   bool accumulate);

}  // namespace dt
