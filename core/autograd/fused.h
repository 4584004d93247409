// An op that is worth a kernel of its own although it could be composed of others. The composition
// is the truth: when a graph of the backward is being built, it is run again and differentiated, so
// every order is right. The fast backward serves only when no graph is built, and may use
// by-products of the forward (mean, rstd) that carry no history.
#pragma once

#include "core/autograd/engine.h"
#include "core/autograd/record.h"

namespace dt {

// Differentiates composition(inputs) by re-running it on aliases of the inputs.
template <class Composition>
void backward_by_composition(BackwardCall& call, const std::vector<Saved>& inputs,
                             const Composition& composition) {
  std::vector<Tensor> aliases, wanted;
  for (const Saved& s : inputs) {
    const Tensor x = s.get(call.node);
    aliases.push_back(x.defined() ? alias(x) : x);
  }
  const auto wants = [&](size_t i) {  // not those of leaves that left the graph
    return call.wants(static_cast<int>(i)) && aliases[i].requires_grad();
  };
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (wants(i)) wanted.push_back(aliases[i]);
  }
  const Tensor y = composition(aliases);
  if (!y.requires_grad()) return;  // it depends on no element of the inputs: the gradients are zero
  const std::vector<Tensor> grads =
      run_grad({y}, wanted, {call.grad()}, {true, call.create_graph}, true);
  size_t next = 0;
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (!wants(i)) continue;
    call.results[i] = call.in_graph(grads[next++]);
  }
}

// Records `y`, which a fast kernel has computed.
//   saved: the inputs, as far as a gradient reads them
//   composition(const std::vector<Tensor>& inputs) -> Tensor, without side effects
//   fast_backward(BackwardCall&, const std::vector<Tensor>& inputs): fills in call.results
// Call it after `needs_graph(inputs)`: both functions capture what they need.
template <class Composition, class FastBackward>
Tensor fused(const char* name, const Tensor& y, TensorList inputs, std::vector<Saved> saved,
             Composition composition, FastBackward fast_backward) {
  return record(name, y, inputs,
                [saved = std::move(saved), composition = std::move(composition),
                 fast_backward = std::move(fast_backward)](BackwardCall& call) {
                  if (call.create_graph) return backward_by_composition(call, saved, composition);
                  std::vector<Tensor> values;
                  for (const Saved& s : saved) values.push_back(s.get(call.node));
                  fast_backward(call, values);
                });
}

}  // namespace dt
