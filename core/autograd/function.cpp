#include "core/autograd/function.h"

#include "core/autograd/inplace.h"
#include "core/autograd/view.h"

namespace dt {
namespace {

struct OwnedName {
  explicit OwnedName(std::string s) : text(std::move(s)) {}
  std::string text;
};

class CustomNode final : private OwnedName, public Node {
 public:
  CustomNode(const std::string& name, CustomBackward backward)
      : OwnedName(name), Node(text.c_str(), true), backward_(std::move(backward)) {}

  std::vector<Saved>& saved() { return saved_; }

  void backward(BackwardCall& call) override {
    if (released_) fail_released();
    call.grad();  // a seed is a tensor like any other to the user's function
    std::vector<Tensor> kept, grads(call.grads, call.grads + outputs.size());
    for (const Saved& s : saved_) kept.push_back(s.get(this));
    const std::vector<Tensor> results = backward_(grads, kept);
    DT_CHECK(static_cast<int>(results.size()) == edges.size(), kRuntimeError, "function ", name,
             " returned an incorrect number of gradients (expected ", edges.size(), ", got ",
             results.size(), ")");
    const bool depends = call.create_graph && (needs_graph(grads) || needs_graph(kept));
    for (int i = 0; i < edges.size(); ++i) {
      if (!call.wants(i) || !results[i].defined()) continue;
      const bool lost = depends && !results[i].requires_grad();
      call.results[i] = lost ? refuse_second_order(results[i], grads, kept) : results[i];
    }
  }

  void release_saved() override {
    if (saved_.empty()) return;
    saved_.clear();
    backward_ = nullptr;  // and with it the user's data: it cannot be called again
    released_ = true;
  }

 private:
  Tensor refuse_second_order(const Tensor& grad, const std::vector<Tensor>& grads,
                             const std::vector<Tensor>& kept) {
    std::vector<Tensor> inputs(grads);
    inputs.insert(inputs.end(), kept.begin(), kept.end());
    return record("torch::autograd::Error", grad.detach(), inputs, [name = text](BackwardCall&) {
      fail(
          Code::kRuntimeError,
          "trying to differentiate twice a function that was marked with @once_differentiable: the "
          "backward of ",
          name, " returned a gradient without a graph");
    });
  }

  CustomBackward backward_;
  std::vector<Saved> saved_;
  bool released_ = false;
};

int64_t position(TensorList list, const Tensor& x) {
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list[i].is_same(x)) return i;
  }
  return -1;
}

void check_dirty(TensorList dirty, TensorList inputs, TensorList outputs) {
  for (const Tensor& x : dirty) {
    DT_CHECK(position(outputs, x) >= 0, kRuntimeError,
             "Some elements marked as dirty during the forward method were not returned as output. "
             "The inputs that are modified inplace must all be outputs of the Function.");
    const bool only = inputs[0].is_same(x) && outputs.size() == 1;
    DT_CHECK(!x.impl()->autograd.view || only, kRuntimeError,
             "a view that is marked as dirty must be the first input and the only output of the "
             "Function");
    check_inplace(x, needs_graph(inputs));
  }
}

// Makes the results the node's outputs, where they are dirty as in-place ops do.
void attach_results(const Ref<Node>& node, TensorList results, TensorList inputs,
                    TensorList dirty) {
  if (dirty.size() == 1 && dirty[0].impl()->autograd.view) {
    node->connect(inputs);
    finish_inplace(dirty[0], node);
    return;
  }
  attach(node, results, inputs);
  for (const Tensor& x : dirty) {
    x.bump_version();
    ++x.impl()->autograd.rebased;
  }
}

}  // namespace

std::vector<Tensor> custom_function(const std::optional<std::string>& name, TensorList inputs,
                                    TensorList outputs, TensorList saved, CustomBackward backward,
                                    TensorList dirty) {
  check_dirty(dirty, inputs, outputs);
  std::vector<Tensor> results;
  for (const Tensor& y : outputs) {
    // An output that is an unchanged input, or already has a history, gets a handle of its own to
    // carry the new one.
    const bool own = position(inputs, y) < 0 && !y.requires_grad();
    results.push_back(own || position(dirty, y) >= 0 ? y : y.detach());
  }
  if (!needs_graph(inputs)) return results;
  auto* node = new CustomNode(name.value_or("CustomBackward"), std::move(backward));
  const Ref<Node> owner = Ref<Node>::adopt(node);
  attach_results(owner, results, inputs, dirty);
  for (const Tensor& x : saved) {
    const int64_t output = x.defined() ? position(outputs, x) : -1;
    if (output >= 0 && (position(inputs, x) < 0 || position(dirty, x) >= 0)) {
      node->saved().push_back(Saved::output(results[output], static_cast<int>(output)));
    } else {
      node->saved().push_back(Saved::input(x));
    }
  }
  return results;
}

}  // namespace dt
