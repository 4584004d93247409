#include "core/autograd/backward_checks.h"

#include "core/autograd/gradients.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// Whether an op's input of `sizes` can have got this gradient: it may be of a shape that the input
// was broadcast to.
bool is_broadcast_of(const Dims& sizes, const Dims& grad) {
  const int extra = grad.size() - sizes.size();
  if (extra < 0) return false;
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && sizes[d] != grad[extra + d]) return false;
  }
  return true;
}

void check_shape(const Node& node, const Edge& edge, int index, const Tensor& grad) {
  const Dims& sizes = edge.node->outputs[edge.index].sizes;
  DT_CHECK(grad.sizes() == sizes || is_broadcast_of(sizes, grad.sizes()), kRuntimeError,
           "Function ", node.name, " returned an invalid gradient at index ", index, " - got ",
           grad.sizes(), " but expected shape compatible with ", sizes);
}

}  // namespace

void check_results(const BackwardCall& call) {
  const bool detects_anomaly = context().anomaly_enabled;
  for (int i = 0; i < call.node->edges.size(); ++i) {
    if (!call.wants(i) || !call.results[i].defined()) continue;
    DT_CHECK(!detects_anomaly || !has_nan(call.results[i]), kRuntimeError, "Function '",
             call.node->name, "' returned nan values in its ", i, "th output.");
    check_shape(*call.node, call.node->edges[i], i, call.results[i]);
  }
}

void check_outputs(TensorList outputs, TensorList grads) {
  DT_CHECK(grads.empty() || grads.size() == outputs.size(), kRuntimeError, "got ", outputs.size(),
           " tensors and ", grads.size(), " gradients");
  for (int64_t i = 0; i < outputs.size(); ++i) {
    const Tensor& y = outputs[i];
    DT_CHECK(y.requires_grad(), kRuntimeError, "element ", i,
             " of tensors does not require grad and does not have a grad_fn");
  }
  for (int64_t i = 0; i < outputs.size(); ++i) {
    const Tensor& y = outputs[i];
    const bool given = !grads.empty() && grads[i].defined();
    DT_CHECK(given || y.numel() == 1, kRuntimeError,
             "grad can be implicitly created only for scalar outputs");
    DT_CHECK(!given || grads[i].sizes() == y.sizes(), kRuntimeError,
             "Mismatch in shape: grad_output[", i, "] has a shape of ",
             given ? grads[i].sizes() : Dims(), " and output[", i, "] has a shape of ", y.sizes(),
             ".");
  }
}

void check_used(int64_t input, bool used) {
  DT_CHECK(used, kRuntimeError, "The differentiated Tensor at index ", input,
           " appears to not have been used in the graph. Set "
           "allow_unused=True if this is the desired behavior.");
}

OneAtATime::OneAtATime(Node& node) : node_(node) {
  const bool is_leaf = node.edges.size() == 0;
  DT_CHECK(is_leaf || !node.running.exchange(true, std::memory_order_acquire), kRuntimeError,
           "another backward is running through ", node.name,
           ": two threads cannot differentiate one graph at the same time");
}

}  // namespace dt
