// Ops that are linear in each of two inputs: each input's gradient is a function of the other.
#pragma once

#include "core/autograd/record.h"
#include "core/ops/checks.h"

namespace dt {

// Records y of (a, b). The gradients are left(grad, b) and right(a, grad).
template <class Left, class Right>
Tensor record_bilinear(const char* node_name, const Tensor& y, const Tensor& a, const Tensor& b,
                       Left left, Right right) {
  const bool wants_a = needs_graph(a), wants_b = needs_graph(b);
  if (!wants_a && !wants_b) return y;
  return record(node_name, y, {a, b},
                [left, right, saved_a = save_if(wants_b, a),
                 saved_b = save_if(wants_a, b)](BackwardCall& call) {
                  const Tensor& g = call.grad();
                  if (call.wants(0)) call.results[0] = left(g, saved_b.get(call.node));
                  if (call.wants(1)) call.results[1] = right(saved_a.get(call.node), g);
                });
}

}  // namespace dt
