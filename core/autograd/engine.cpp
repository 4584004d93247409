#include "core/autograd/engine.h"

#include <memory>
#include <queue>

#include "core/autograd/accumulate.h"
#include "core/autograd/backward_checks.h"
#include "core/autograd/backward_streams.h"
#include "core/autograd/grad_slot.h"
#include "core/autograd/gradients.h"
#include "core/autograd/hooks.h"
#include "core/autograd/running.h"
#include "core/autograd/targets.h"
#include "core/base/pointer_map.h"
#include "core/runtime/context.h"
#include "core/runtime/profiler.h"

namespace dt {
namespace {

// One backward. What has arrived at a node waits there until its turn comes.
class Run final : RunningBackward {
 public:
  // With `targets`, only what these need runs, and their gradients are kept there; without (null),
  // everything runs, down to the leaves.
  Run(BackwardOptions options, Targets* targets) : options_(options), targets_(targets) {}

  void start(TensorList outputs, TensorList grads);
  void finish();
  bool reaches(const Node* node) override;

 private:
  struct Pending {
    Node* node;
    SmallList<Tensor, 1> grads;  // of the node's outputs
    bool is_seed = false;        // grads[0] is 1 and may have no memory yet: see BackwardCall

    void hold_seed() {
      if (is_seed && !grads[0].defined()) grads[0] = make_seed(node->outputs[0]);
      is_seed = false;
    }
  };

  bool is_wanted(const Edge& edge) const {
    return edge.defined() && (!targets_ || targets_->need(edge.node.get()));
  }
  Pending& pending(Node* node);
  void show(const Edge& edge, const Tensor& grad);
  void deliver(const Edge& edge, Tensor grad);
  void step(Pending& p);
  void call(Pending& p);

  const BackwardOptions options_;
  Targets* const targets_;
  BackwardStreams streams_;
  std::vector<Ref<Node>> roots_;  // keep the graph, whatever hooks do to the outputs
  std::vector<std::unique_ptr<Pending>> pending_;
  std::priority_queue<std::pair<uint64_t, int64_t>> ready_;  // (seq, -index in pending_)
  PointerMap index_;                                         // of a node in pending_
  PointerMap reached_;  // from the roots; filled when asked for
};

// A node's number is larger than those of what made its inputs. So taking the largest first means
// that every gradient of a node has arrived when its turn comes.
void Run::finish() {
  const GradMode mode(options_.create_graph);
  while (!ready_.empty()) {
    const std::unique_ptr<Pending> p = std::move(pending_[-ready_.top().second]);
    ready_.pop();
    step(*p);
  }
}

bool Run::reaches(const Node* node) {
  if (targets_) return targets_->need(node);
  std::vector<Node*> next;
  const auto visit = [&](Node* n) {
    bool fresh;
    if (n) reached_.find_or_insert(n, 1, &fresh);
    if (n && fresh) next.push_back(n);
  };
  if (reached_.find(roots_[0].get()) < 0) {
    for (const Ref<Node>& root : roots_) visit(root.get());
  }
  while (!next.empty()) {
    Node* const n = next.back();
    next.pop_back();
    for (const Edge& edge : n->edges) visit(edge.node.get());
  }
  return reached_.find(node) >= 0;
}

void Run::step(Pending& p) {
  Node& node = *p.node;
  for (const OutputInfo& y : node.outputs) {
    if (y.device != kCpu) streams_.follow(y.device, y.stream);
  }
  HookList* const hooks = node.hooks.get();
  const bool is_target = targets_ && targets_->contain(&node);
  if (hooks || is_target) p.hold_seed();
  for (int i = 0; hooks && i < p.grads.size(); ++i) {
    if (p.grads[i].defined()) p.grads[i] = run_hooks(*hooks, i, p.grads[i]);
  }
  if (is_target) targets_->keep(&node, p.grads.begin());
  call(p);
}

// Runs the node's backward and sends what it found along the edges.
void Run::call(Pending& p) {
  Node& node = *p.node;
  const int n = node.edges.size();
  SmallList<Tensor, 4> results;
  SmallList<bool, 4> wanted;
  results.resize(n);
  wanted.resize(n);
  bool any_wanted = !targets_;  // a leaf's node wants its gradient, and has no edges
  for (int i = 0; i < n; ++i) any_wanted |= wanted[i] = is_wanted(node.edges[i]);
  if (!any_wanted) return;
  BackwardCall b{&node,          p.grads.begin(),       results.begin(),
                 wanted.begin(), options_.create_graph, p.is_seed};
  {
    const OneAtATime guard(node);
    const ActivityScope activity(ActivityKind::kNode, node.name);
    node.backward(b);
    if (!options_.retain_graph) node.release_saved();
  }
  check_results(b);
  for (int i = 0; i < n; ++i) {
    if (wanted[i] && results[i].defined()) deliver(node.edges[i], std::move(results[i]));
  }
}

// The hooks of the only output see its gradient, also if nothing wanted lies behind it.
void Run::show(const Edge& edge, const Tensor& grad) {
  const GradMode mode(options_.create_graph);
  HookList* const hooks = edge.node->hooks.get();
  if (hooks) run_hooks(*hooks, edge.index, conform(grad, edge.node->outputs[edge.index]));
}

// Adds a gradient to what waits at the end of the edge.
void Run::deliver(const Edge& edge, Tensor grad) {
  Pending& p = pending(edge.node.get());
  p.hold_seed();
  grad = conform(std::move(grad), edge.node->outputs[edge.index]);
  Tensor& sum = p.grads[edge.index];
  sum = sum.defined() ? add_gradients(std::move(sum), grad) : std::move(grad);
}

Run::Pending& Run::pending(Node* node) {
  bool fresh;
  const auto next = static_cast<int64_t>(pending_.size());
  const int64_t i = index_.find_or_insert(node, next, &fresh);
  if (fresh) {
    pending_.push_back(std::make_unique<Pending>());
    pending_[i]->node = node;
    pending_[i]->grads.resize(node->outputs.size());
    ready_.push({node->seq, -i});
  }
  return *pending_[i];
}

void Run::start(TensorList outputs, TensorList grads) {
  for (int64_t i = 0; i < outputs.size(); ++i) {
    const Edge edge = gradient_edge(outputs[i]);
    roots_.push_back(edge.node);
    const bool given = !grads.empty() && grads[i].defined();
    if (!is_wanted(edge)) {
      if (outputs.size() == 1) show(edge, given ? grads[i] : make_seed(OutputInfo(outputs[i])));
      continue;
    }
    const bool may_wait = edge.node->outputs.size() == 1 && index_.find(edge.node.get()) < 0;
    if (given)
      deliver(edge, grads[i]);
    else if (may_wait)
      pending(edge.node.get()).is_seed = true;
    else
      deliver(edge, make_seed(OutputInfo(outputs[i])));
  }
}

}  // namespace

void run_backward(TensorList outputs, TensorList grads, TensorList inputs,
                  BackwardOptions options) {
  check_outputs(outputs, grads);
  Targets targets(inputs, outputs);
  Run run(options, inputs.empty() ? nullptr : &targets);
  for (const Tensor& x : inputs) x.retain_grad();  // also in later ones, if it is no leaf
  run.start(outputs, grads);
  run.finish();
  const GradMode mode(options.create_graph);
  for (int64_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_leaf() || !targets.found(i).defined() || targets.repeats(i)) continue;
    grad_slot(inputs[i])->accumulate(targets.take(i), grad_strides(inputs[i]),
                                     options.create_graph);
    accumulator_of(inputs[i])->run_accumulated();
  }
}

std::vector<Tensor> run_grad(TensorList outputs, TensorList inputs, TensorList grads,
                             BackwardOptions options, bool allow_unused) {
  check_outputs(outputs, grads);
  Targets targets(inputs, outputs);
  Run run(options, &targets);
  run.start(outputs, grads);
  run.finish();
  std::vector<Tensor> result;
  for (int64_t i = 0; i < inputs.size(); ++i) {
    check_used(i, allow_unused || targets.found(i).defined());
    result.push_back(targets.take(i));
  }
  return result;
}

}  // namespace dt
