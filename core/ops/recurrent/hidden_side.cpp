#include "core/ops/recurrent/hidden_side.h"

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/linalg/multiply.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

using States = std::vector<Saved>;

Tensor joined(const States& states, Node* owner) {
  std::vector<Tensor> rows;
  for (const Saved& s : states) rows.push_back(s.get(owner));
  return cat(rows);
}

// The addend, at a place in the graph where the gradient of the weight is found.
Tensor watched(const Tensor& addend, const Tensor& weight, std::shared_ptr<const States> states) {
  const Tensor y = make_alias(addend, addend.sizes(), addend.strides(), addend.offset());
  return record("HiddenWeightBackward0", y, {addend, weight},
                [states = std::move(states)](BackwardCall& call) {
                  const Tensor& g = call.grad();
                  if (call.wants(0)) call.results[0] = g;
                  if (call.wants(1) && !call.create_graph)
                    call.results[1] = mm_product({g, true}, {joined(*states, call.node), false});
                });
}

}  // namespace

HiddenSide::HiddenSide(const Tensor& addend, const Tensor& weight, IntList batch_sizes)
    : weight_(weight) {
  if (needs_graph(weight)) {
    states_ = std::make_shared<States>(batch_sizes.size());
    addends_ = split_with_sizes(watched(addend, weight, states_), batch_sizes, 0);
  } else {
    addends_ = split_with_sizes(addend, batch_sizes, 0);
  }
}

Tensor HiddenSide::step(int64_t t, const Tensor& h) {
  check_factors({h, false}, {weight_, true});
  check_addend_dtype(addends_[t], weight_);
  const Addend addend{addends_[t]};
  const Tensor y = multiply({h, false}, {weight_, true}, &addend);
  if (states_) (*states_)[t] = Saved::input(h.detach());
  if (!needs_graph({addends_[t], h, weight_})) return y;
  return record("HiddenStepBackward0", y, {addends_[t], h, weight_},
                [h = save_if(needs_graph(weight_), h),
                 weight = save_if(needs_graph(h), weight_)](BackwardCall& call) {
                  const Tensor& g = call.grad();
                  if (call.wants(0)) call.results[0] = g;
                  if (call.wants(1))
                    call.results[1] = mm_product({g, false}, {weight.get(call.node), false});
                  if (call.wants(2) && call.create_graph)
                    call.results[2] = mm_product({g, true}, {h.get(call.node), false});
                });
}

}  // namespace dt
