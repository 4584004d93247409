#include "core/autograd/fused.h"

#include "core/autograd/engine.h"
#include "core/autograd/gradients.h"

namespace dt {

std::vector<Tensor> aliases_of(const std::vector<Saved>& inputs, Node* owner) {
  std::vector<Tensor> aliases;
  for (const Saved& s : inputs) {
    const Tensor x = s.get(owner);
    aliases.push_back(x.defined() ? alias(x) : x);
  }
  return aliases;
}

std::vector<Tensor> widened(std::vector<Tensor> aliases) {
  for (Tensor& x : aliases) x = widened(x);
  return aliases;
}

std::vector<Tensor> gradients_by(const std::vector<Tensor>& aliases, TensorList outputs,
                                 const BackwardCall& call) {
  const auto wants = [&](size_t i) {  // not those of leaves that left the graph
    return call.wants(static_cast<int>(i)) && aliases[i].requires_grad();
  };
  std::vector<Tensor> wanted, reached, given, gradients(aliases.size());
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (wants(i)) wanted.push_back(aliases[i]);
  }
  for (int64_t i = 0; i < outputs.size(); ++i) {
    const Tensor g = i == 0 ? call.grad() : call.grads[i];
    if (!g.defined() || !outputs[i].requires_grad()) continue;
    reached.push_back(outputs[i]);
    given.push_back(g.dtype() == outputs[i].dtype() ? g : conform(g, OutputInfo(outputs[i])));
  }
  // Outputs that depend on no element of the inputs: the gradients are zero.
  if (reached.empty()) return gradients;
  const std::vector<Tensor> found =
      run_grad(reached, wanted, given, {true, call.create_graph}, true);
  size_t next = 0;
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (wants(i)) gradients[i] = found[next++];
  }
  return gradients;
}

void differentiate(BackwardCall& call, const std::vector<Tensor>& aliases, const Tensor& output) {
  const std::vector<Tensor> gradients = gradients_by(aliases, TensorList(&output, 1), call);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) call.results[i] = call.in_graph(gradients[i]);
  }
}

}  // namespace dt
