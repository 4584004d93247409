// An op that is worth a kernel of its own although it could be composed of others. The composition
// is the truth: when a graph of the backward is being built, it is run again and differentiated, so
// every order is right. The fast backward serves only when no graph is built, and may use
// by-products of the forward (mean, rstd) that carry no history.
#pragma once

#include "core/autograd/record.h"

namespace dt {

// What a composition is run on to be differentiated: aliases of the inputs.
std::vector<Tensor> aliases_of(const std::vector<Saved>& inputs, Node* owner);
std::vector<Tensor> widened(std::vector<Tensor> aliases);
// The gradients by the aliases of what was composed from them, one output for each of the node's;
// undefined where none is wanted.
std::vector<Tensor> gradients_by(const std::vector<Tensor>& aliases, TensorList outputs,
                                 const BackwardCall& call);
// The same as results of the call, with a place in the graph.
void differentiate(BackwardCall& call, const std::vector<Tensor>& aliases, const Tensor& output);

// Differentiates composition(inputs) by re-running it.
template <class Composition>
void backward_by_composition(BackwardCall& call, const std::vector<Saved>& inputs,
                             const Composition& composition) {
  const std::vector<Tensor> aliases = aliases_of(inputs, call.node);
  differentiate(call, aliases, composition(widened(aliases)));
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
