#include "core/ops/choice.h"

#include "core/autograd/record.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/put_apart.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/scan_gradient.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// A graph of the backward is made of ops; without one a kernel does it where there is one.
Tensor choice_gradient(const Tensor& grad, const Tensor& positions, const Dims& sizes, int d,
                       Chosen chosen, bool create_graph) {
  if (!create_graph && !sizes.empty()) {
    if (chosen == Chosen::kOnce) return put_apart(sizes, d, positions, grad);
    const Tensor y = scan_gradient(grad, positions, Tensor(), d);
    if (y.defined()) return y;
  }
  const Tensor zero = zeros(sizes, grad.dtype(), grad.device());
  return chosen == Chosen::kOnce ? scatter(zero, d, positions, grad)
                                 : scatter_add(zero, d, positions, grad);
}

}  // namespace

void record_choice(const char* node, const Tensor& values, const Tensor& indices, const Tensor& x,
                   int d, const Dims& kept, Chosen chosen) {
  if (!needs_graph(x)) return;
  record(node, values, {x},
         [d, kept, chosen, at = Saved::output(indices, 1), sizes = x.sizes()](BackwardCall& b) {
           b.results[0] = choice_gradient(reshape(b.grad(), kept), reshape(at.get(b.node), kept),
                                          sizes, d, chosen, b.create_graph);
         });
}

Tensor record_shared(const char* node, const Tensor& y, const Tensor& x) {
  if (!needs_graph(x)) return y;
  return record(node, y, {x}, [x = Saved::input(x), y = Saved::output(y)](BackwardCall& b) {
    const Tensor input = x.get(b.node), chosen = y.get(b.node);
    const Tensor hit = logical_or(eq(input, chosen), logical_and(isnan(input), isnan(chosen)));
    b.results[0] = where(hit, div(b.grad(), sum(hit)), 0);
  });
}

}  // namespace dt
