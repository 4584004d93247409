// Gradients of ops whose results are elements of their input.
#pragma once

#include "core/autograd/record.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {

// Whether an element may be chosen more than once; then its gradients add up.
enum class Chosen { kOnce, kRepeatedly };

// Records `values` as x's elements at `indices` along dimension d. Both have the sizes `kept` or,
// where d was reduced, those without it.
inline void record_choice(const char* node, const Tensor& values, const Tensor& indices,
                          const Tensor& x, int d, const Dims& kept, Chosen chosen = Chosen::kOnce) {
  if (!needs_graph(x)) return;
  record(node, values, {x},
         [d, kept, chosen, at = Saved::output(indices, 1), sizes = x.sizes()](BackwardCall& b) {
           const Tensor zero = zeros(sizes, b.grad().dtype(), b.grad().device());
           const Tensor positions = reshape(at.get(b.node), kept);
           const Tensor grad = reshape(b.grad(), kept);
           b.results[0] = chosen == Chosen::kOnce ? scatter(zero, d, positions, grad)
                                                  : scatter_add(zero, d, positions, grad);
         });
}

// Records y, an element of x, as what all elements that equal it have a share in. NaN equals NaN.
inline Tensor record_shared(const char* node, const Tensor& y, const Tensor& x) {
  if (!needs_graph(x)) return y;
  return record(node, y, {x}, [x = Saved::input(x), y = Saved::output(y)](BackwardCall& b) {
    const Tensor input = x.get(b.node), chosen = y.get(b.node);
    const Tensor hit = logical_or(eq(input, chosen), logical_and(isnan(input), isnan(chosen)));
    b.results[0] = where(hit, div(b.grad(), sum(hit)), 0);
  });
}

}  // namespace dt
