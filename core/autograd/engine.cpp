#include "core/autograd/engine.h"

#include <algorithm>
#include <optional>

#include "core/autograd/accumulate.h"
#include "core/autograd/backward_checks.h"
#include "core/autograd/backward_streams.h"
#include "core/autograd/gradients.h"
#include "core/autograd/hooks.h"
#include "core/autograd/pending.h"
#include "core/autograd/running.h"
#include "core/autograd/targets.h"
#include "core/runtime/activity.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

const OutputInfo& end_of(const Edge& edge) {
  return edge.node->outputs[edge.index];
}

// Whether there is a gradient: hooks may have left none. A seed may come without one, but not
// where there are hooks.
bool has_gradient(Pending& p) {
  const auto is_defined = [](const Tensor& grad) { return grad.defined(); };
  return !p.node->hooks.get() || std::any_of(p.grads.begin(), p.grads.end(), is_defined);
}

// Has the hooks behind a node see what it found, as the ends of its edges will.
void show_results(BackwardCall& call, TensorList arrived) {
  const int n = call.node->edges.size();
  for (int i = 0; i < n; ++i) {
    if (!call.wants(i)) call.results[i] = Tensor();
    if (!call.results[i].defined()) continue;
    call.results[i] = conform(std::move(call.results[i]), end_of(call.node->edges[i]));
  }
  run_node_hooks(call.node->hooks, kAfterNode, {call.results, n}, arrived);
}

// One backward.
class Run final : RunningBackward {
 public:
  // With `targets`, only what these need runs; their gradients are kept there, or, where `adds`,
  // added to the .grad of those that are leaves. Without (null), everything runs, down to the
  // leaves.
  Run(BackwardOptions options, Targets* targets, bool adds)
      : options_(options), targets_(targets), adds_(adds) {}

  void until_done(TensorList outputs, TensorList grads) {
    start(outputs, grads);
    const GradMode mode(options_.create_graph);
    while (!pending_.empty()) step(*pending_.take_next());
  }

 private:
  void start(TensorList outputs, TensorList grads);
  void step(Pending& p);
  void call(Pending& p);
  void deliver(const Edge& edge, Tensor grad);
  void show(const Edge& edge, const Tensor& grad);

  bool is_wanted(const Edge& edge) const {
    return edge.defined() && (!targets_ || targets_->need(edge.node.get()));
  }
  bool reaches(const Node* node) override {
    if (targets_) return targets_->need(node);
    if (!reached_) nodes_behind({roots_.begin(), roots_.size()}, &reached_.emplace());
    return reached_->find(node) >= 0;
  }
  const Tensor* arrived(const Edge& edge) override {
    if (!pending_.contain(edge.node.get())) return nullptr;
    Pending& p = pending_.at(edge.node.get());
    p.hold_seed();
    return p.grads[edge.index].defined() ? &p.grads[edge.index] : nullptr;
  }

  bool targeted() const override { return targets_; }

  const BackwardOptions options_;
  Targets* const targets_;
  const bool adds_;
  BackwardStreams streams_;
  SmallList<Ref<Node>, 1> roots_;  // keep the graph, whatever hooks do to the outputs
  PendingNodes pending_;
  std::optional<PointerMap> reached_;  // nodes behind the roots, once somebody asked
};

void Run::step(Pending& p) {
  Node& node = *p.node;
  streams_.follow(node);
  HookList* const hooks = node.hooks.get();
  const bool is_target = targets_ && targets_->contain(&node) && !adds_;
  if (hooks || is_target) p.hold_seed();
  for (int i = 0; hooks && i < p.grads.size(); ++i) {
    if (p.grads[i].defined()) p.grads[i] = run_hooks(*hooks, i, p.grads[i]);
  }
  if (is_target) targets_->keep(&node, p.grads.begin());
  call(p);
}

// Runs the node's backward and sends what it found along the edges. A node whose gradient is to be
// added to .grad may be the end of the way: its hooks are called, and its backward if it is a
// leaf's, which adds.
void Run::call(Pending& p) {
  Node& node = *p.node;
  const int n = node.edges.size();
  SmallList<Tensor, 4> results(n);
  SmallList<bool, 4> wanted(n);
  const bool is_end = !targets_ || (adds_ && targets_->contain(&node));
  bool any_wanted = is_end && (!targets_ || n == 0);
  for (int i = 0; i < n; ++i) any_wanted |= wanted[i] = is_wanted(node.edges[i]);
  if (!any_wanted && !is_end) return;
  run_node_hooks(node.hooks, kBeforeNode, {p.grads.begin(), p.grads.size()}, {});
  const bool has_after = has_hooks(node.hooks, kAfterNode);
  std::vector<Tensor> arrived;
  if (has_after) arrived.assign(p.grads.begin(), p.grads.end());
  BackwardCall b{
      &node,     p.grads.begin(),           results.begin(), wanted.begin(), options_.create_graph,
      p.is_seed, has_after ? nullptr : this};  // hooks want to see each result by itself
  if (any_wanted) {
    const OneAtATime guard(node);
    const ActivityScope activity(ActivityKind::kNode, node.name, !node.owns_name);
    if (has_gradient(p)) node.backward(b);
    if (!options_.retain_graph) node.release_saved();
  }
  check_results(b);
  if (has_after) show_results(b, arrived);
  for (int i = 0; i < n; ++i) {
    if (wanted[i] && results[i].defined()) deliver(node.edges[i], std::move(results[i]));
  }
}

// Adds a gradient to what waits at the end of the edge.
void Run::deliver(const Edge& edge, Tensor grad) {
  Pending& p = pending_.at(edge.node.get());
  p.hold_seed();
  grad = conform(std::move(grad), end_of(edge));
  Tensor& sum = p.grads[edge.index];
  sum = sum.defined() ? add_gradients(std::move(sum), grad) : std::move(grad);
}

void Run::start(TensorList outputs, TensorList grads) {
  roots_.resize(static_cast<int>(outputs.size()));
  for (int i = 0; i < roots_.size(); ++i) {
    const Edge edge = gradient_edge(outputs[i]);
    Node* const root = (roots_[i] = edge.node).get();
    const bool given = !grads.empty() && grads[i].defined();
    if (!is_wanted(edge)) {
      if (outputs.size() == 1) show(edge, given ? grads[i] : make_seed(OutputInfo(outputs[i])));
      continue;
    }
    const bool may_wait = root->outputs.size() == 1 && !pending_.contain(root);
    if (given)
      deliver(edge, grads[i]);
    else if (may_wait)
      pending_.at(root).is_seed = true;
    else
      deliver(edge, make_seed(OutputInfo(outputs[i])));
  }
}

// The hooks of the only output see its gradient, also if nothing wanted lies behind it.
void Run::show(const Edge& edge, const Tensor& grad) {
  const GradMode mode(options_.create_graph);
  HookList* const hooks = edge.node->hooks.get();
  if (hooks) run_hooks(*hooks, edge.index, conform(grad, end_of(edge)));
}

}  // namespace

void run_backward(TensorList outputs, TensorList grads, TensorList inputs,
                  BackwardOptions options) {
  check_outputs(outputs, grads);
  std::optional<Targets> targets;
  if (!inputs.empty()) targets.emplace(inputs, outputs);
  for (const Tensor& x : inputs) x.retain_grad();  // also in later ones, if it is no leaf
  Run(options, targets ? &*targets : nullptr, true).until_done(outputs, grads);
}

std::vector<Tensor> run_grad(TensorList outputs, TensorList inputs, TensorList grads,
                             BackwardOptions options, bool allow_unused) {
  check_outputs(outputs, grads);
  Targets targets(inputs, outputs);
  Run(options, &targets, false).until_done(outputs, grads);
  std::vector<Tensor> result;
  for (int64_t i = 0; i < inputs.size(); ++i) {
    check_used(i, allow_unused || targets.found(i).defined());
    result.push_back(targets.take(i));
  }
  return result;
}

}  // namespace dt
