#include "core/autograd/engine.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <queue>

#include "core/autograd/backward_streams.h"
#include "core/autograd/hooks.h"
#include "core/autograd/record.h"
#include "core/base/pointer_map.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/tensor/layout.h"

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

// A node may be the user's: its gradients are checked.
void check_shape(Node* node, int index, const Tensor& grad) {
  const Edge& edge = node->edges[index];
  const Dims& sizes = edge.leaf ? edge.leaf->sizes : edge.node->outputs[edge.index].sizes;
  DT_CHECK(grad.sizes() == sizes || is_broadcast_of(sizes, grad.sizes()), kRuntimeError,
           "Function ", node->name, " returned an invalid gradient at index ", index, " - got ",
           grad.sizes(), " but expected shape compatible with ", sizes);
}

// A gradient that has arrived is made to look like what it is the gradient of.
Tensor conform(Tensor grad, const Dims& sizes, DType dtype, Device device) {
  if (grad.sizes() != sizes) grad = sum_to(grad, sizes);
  if (grad.dtype() != dtype || grad.device() != device) grad = to(grad, device, dtype);
  return grad;
}

// How the memory of x.grad is laid out: like that of x, or row-major where x has gaps or repeats.
Dims grad_strides(const Tensor& x) {
  return is_dense(x.sizes(), x.strides()) ? x.strides() : contiguous_strides(x.sizes());
}

bool sole_owner(const Tensor& x) {
  return x.ref()->use_count() == 1 && x.storage()->use_count() == 1 && !x.impl()->autograd.view;
}

class Run {
 public:
  explicit Run(BackwardOptions options) : options_(options) {}

  // Only these gradients are wanted (torch.autograd.grad, and backward with inputs).
  void restrict_to(TensorList inputs, TensorList outputs);
  void start(const Tensor& output, const Tensor& grad);
  // The same with a gradient of 1.
  void start(const Tensor& output);
  void finish();
  // The gradient found for input number i of restrict_to.
  const Tensor& captured(int64_t i) const { return captured_[i]; }
  // Adds what was found to the leaves' .grad.
  void accumulate();

 private:
  struct Pending {
    Node* node;
    SmallList<Tensor, 1> grads;
    bool is_seed = false;  // grads[0] is 1 and may have no memory yet: see BackwardCall
  };
  struct Leaf {
    Ref<TensorImpl> tensor;
    Tensor grad;
  };
  struct Target {  // an input of restrict_to that is not a leaf: output `index` of `node`
    const Node* node;
    int32_t index;
    int64_t input;
  };

  bool edge_wanted(const Edge& edge);
  void call_hooks(const Edge& edge, const Tensor& grad);
  Pending& pending(Node* node);
  static void hold_seed(Pending& p);
  void deliver(const Edge& edge, Tensor grad);
  void step(Pending& p);
  void call(Node* node, BackwardCall& b);
  void add_to_grad(const Tensor& x, Tensor grad);
  void mark_needed(TensorList outputs);

  BackwardOptions options_;
  BackwardStreams streams_;
  std::vector<std::unique_ptr<Pending>> pending_;
  std::vector<Ref<Node>> keep_;                              // the roots
  std::priority_queue<std::pair<uint64_t, int64_t>> ready_;  // (seq, index in pending_)
  PointerMap pending_index_, leaf_index_;
  std::vector<Leaf> leaves_;

  bool restricted_ = false;
  PointerMap needed_;  // node or leaf -> 1 if a wanted input lies behind it
  std::vector<Target> targets_;
  std::vector<Ref<TensorImpl>> target_leaves_;
  std::vector<Tensor> captured_;
  std::vector<int64_t> target_leaf_input_;
};

bool Run::edge_wanted(const Edge& edge) {
  if (!edge.defined()) return false;
  if (!restricted_) return true;
  const void* key = edge.node ? static_cast<const void*>(edge.node.get()) : edge.leaf.get();
  return needed_.find(key) == 1;
}

// Adds a gradient to what waits at the end of the edge.
void Run::deliver(const Edge& edge, Tensor grad) {
  bool fresh;
  if (edge.leaf) {
    const int64_t i =
        leaf_index_.find_or_insert(edge.leaf.get(), static_cast<int64_t>(leaves_.size()), &fresh);
    if (fresh) leaves_.push_back({edge.leaf, Tensor()});
    grad =
        conform(std::move(grad), edge.leaf->sizes, edge.leaf->dtype, edge.leaf->storage->device());
    Tensor& sum = leaves_[i].grad;
    sum = sum.defined() ? add_gradients(std::move(sum), grad) : std::move(grad);
    return;
  }
  Pending& p = pending(edge.node.get());
  const OutputInfo& info = p.node->outputs[edge.index];
  grad = conform(std::move(grad), info.sizes, info.dtype, info.device);
  hold_seed(p);
  Tensor& sum = p.grads[edge.index];
  sum = sum.defined() ? add_gradients(std::move(sum), grad) : std::move(grad);
}

// What waits at a node.
Run::Pending& Run::pending(Node* node) {
  bool fresh;
  const int64_t i =
      pending_index_.find_or_insert(node, static_cast<int64_t>(pending_.size()), &fresh);
  if (fresh) {
    pending_.push_back(std::make_unique<Pending>());
    pending_.back()->node = node;
    pending_.back()->grads.resize(node->outputs.size());
    ready_.push({node->seq, i});
  }
  return *pending_[i];
}

// Gives a seed its memory.
void Run::hold_seed(Pending& p) {
  if (!p.is_seed) return;
  if (!p.grads[0].defined()) p.grads[0] = make_seed(p.node->outputs[0]);
  p.is_seed = false;
}

void Run::start(const Tensor& output, const Tensor& grad) {
  const Edge edge = gradient_edge(output);
  keep_.push_back(edge.node);
  if (edge_wanted(edge))
    deliver(edge, grad);
  else
    call_hooks(edge, grad);
}

// Of an output behind which nothing wanted lies: its hooks see its gradient all the same.
void Run::call_hooks(const Edge& edge, const Tensor& grad) {
  const GradMode mode(options_.create_graph);
  HookList* const hooks = (edge.node ? edge.node->hooks : edge.leaf->autograd.hooks).get();
  if (hooks) run_hooks(*hooks, edge.node ? edge.index : 0, grad);
}

void Run::start(const Tensor& output) {
  const Edge edge = gradient_edge(output);
  const bool may_wait = edge.node && edge.node->outputs.size() == 1 && edge_wanted(edge);
  const bool is_first = may_wait && pending_index_.find(edge.node.get()) < 0;
  if (!is_first) return start(output, make_seed(OutputInfo(output)));
  keep_.push_back(edge.node);
  pending(edge.node.get()).is_seed = true;
}

void check_nan(const Node* node, BackwardCall& b, int n) {
  for (int i = 0; i < n; ++i) {
    if (!b.results[i].defined() || !is_floating(b.results[i].dtype())) continue;
    const GradMode no_grad(false);
    const Tensor r = b.results[i].detach();
    DT_CHECK(!item(any(ne(r, r))).to_bool(), kRuntimeError, "Function '", node->name,
             "' returned nan values in its ", i, "th output.");
  }
}

void Run::call(Node* node, BackwardCall& b) {
  DT_CHECK(!node->running.exchange(true, std::memory_order_acquire), kRuntimeError,
           "another backward is running through ", node->name,
           ": two threads cannot differentiate one graph at the same time");
  struct Done {
    Node* node;
    ~Done() { node->running.store(false, std::memory_order_release); }
  } done{node};
  node->backward(b);
  if (!options_.retain_graph) node->release_saved();
}

void Run::step(Pending& p) {
  Node* node = p.node;
  for (const OutputInfo& y : node->outputs) {
    if (y.device != kCpu) streams_.follow(y.device, y.stream);
  }
  HookList* const hooks = node->hooks.get();
  if (hooks || !targets_.empty()) hold_seed(p);
  if (hooks) {
    for (int i = 0; i < p.grads.size(); ++i) {
      if (p.grads[i].defined()) p.grads[i] = run_hooks(*hooks, i, p.grads[i]);
    }
  }
  for (const Target& t : targets_) {
    if (t.node == node) captured_[t.input] = p.grads[t.index];
  }
  const int n = node->edges.size();
  SmallList<Tensor, 4> results;
  SmallList<bool, 4> wanted;
  results.resize(n);
  wanted.resize(n);
  bool any_wanted = false;
  for (int i = 0; i < n; ++i) any_wanted |= wanted[i] = edge_wanted(node->edges[i]);
  if (!any_wanted) return;
  BackwardCall b{node,           p.grads.begin(),       results.begin(),
                 wanted.begin(), options_.create_graph, p.is_seed};
  call(node, b);
  if (__builtin_expect(context().anomaly_enabled, 0)) check_nan(node, b, n);
  for (int i = 0; i < n; ++i) {
    if (!wanted[i] || !results[i].defined()) continue;
    check_shape(node, i, results[i]);
    deliver(node->edges[i], std::move(results[i]));
  }
}

// A node's number is larger than those of what made its inputs. So taking the largest first means
// that every gradient of a node has arrived when its turn comes.
void Run::finish() {
  const GradMode mode(options_.create_graph);
  while (!ready_.empty()) {
    const int64_t i = ready_.top().second;
    ready_.pop();
    const std::unique_ptr<Pending> p = std::move(pending_[i]);
    step(*p);
  }
  for (Leaf& leaf : leaves_) {
    HookList* const hooks = leaf.tensor->autograd.hooks.get();
    if (hooks) leaf.grad = run_hooks(*hooks, 0, std::move(leaf.grad));
  }
  for (size_t k = 0; k < target_leaves_.size(); ++k) {
    const int64_t i = leaf_index_.find(target_leaves_[k].get());
    if (i >= 0) captured_[target_leaf_input_[k]] = leaves_[i].grad;
  }
}

// Two threads may run backward into one leaf: each of their gradients counts.
void Run::add_to_grad(const Tensor& x, Tensor grad) {
  const std::lock_guard<SpinLock> guard(x.impl()->autograd.accumulating);
  const Tensor before = x.grad();
  if (!before.defined()) {
    // A gradient that others see (an input of the graph, say) must not become .grad's memory.
    const Dims strides = grad_strides(x);
    const bool keep = sole_owner(grad) && same_walk(x.sizes(), grad.strides(), strides);
    x.set_grad(keep ? std::move(grad) : clone_strided(grad, strides));
  } else if (options_.create_graph) {
    x.set_grad(add(before, grad));
  } else {
    add_(before, grad);
  }
}

void Run::accumulate() {
  const GradMode mode(options_.create_graph);
  for (Leaf& leaf : leaves_) {
    const Tensor x(leaf.tensor);
    if (x.requires_grad()) add_to_grad(x, std::move(leaf.grad));  // or frozen since its use
  }
}

void Run::restrict_to(TensorList inputs, TensorList outputs) {
  restricted_ = true;
  captured_.resize(inputs.size());
  bool fresh;
  for (int64_t i = 0; i < inputs.size(); ++i) {
    DT_CHECK(inputs[i].defined() && inputs[i].requires_grad(), kRuntimeError,
             "One of the differentiated Tensors does not require grad");
    const Edge edge = gradient_edge(inputs[i]);
    if (edge.leaf) {
      needed_.find_or_insert(edge.leaf.get(), 1, &fresh);
      target_leaves_.push_back(edge.leaf);
      target_leaf_input_.push_back(i);
    } else {
      keep_.push_back(edge.node);
      targets_.push_back({edge.node.get(), edge.index, i});
    }
  }
  mark_needed(outputs);
}

// Depth-first without recursion: a node is needed if it is a target or an edge of it leads to
// something needed.
void Run::mark_needed(TensorList outputs) {
  struct Frame {
    Node* node;
    int next;
    bool needed;
  };
  std::vector<Frame> stack;
  PointerMap visited, is_target;
  bool fresh;
  for (const Target& t : targets_) is_target.find_or_insert(t.node, 1, &fresh);
  const auto enter = [&](Node* node) {
    visited.find_or_insert(node, 1, &fresh);
    if (fresh) stack.push_back({node, 0, is_target.find(node) == 1});
  };
  for (const Tensor& y : outputs) {
    const Edge edge = gradient_edge(y);
    if (edge.node) {
      keep_.push_back(edge.node);
      enter(edge.node.get());
    }
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.next < f.node->edges.size()) {
        const Edge& e = f.node->edges[f.next];
        const bool unvisited = e.node && visited.find(e.node.get()) < 0;
        if (unvisited) {
          enter(e.node.get());  // f is invalid now; this edge is looked at again afterwards
          continue;
        }
        f.needed |= edge_wanted(e);
        ++f.next;
        continue;
      }
      if (f.needed) needed_.find_or_insert(f.node, 1, &fresh);
      stack.pop_back();
    }
  }
}

void check_outputs(TensorList outputs, TensorList grads) {
  DT_CHECK(grads.empty() || grads.size() == outputs.size(), kRuntimeError, "got ", outputs.size(),
           " tensors and ", grads.size(), " gradients");
  for (int64_t i = 0; i < outputs.size(); ++i) {
    DT_CHECK(outputs[i].requires_grad(), kRuntimeError, "element ", i,
             " of tensors does not require grad and does not have a grad_fn");
  }
}

void start(Run& run, TensorList outputs, TensorList grads) {
  for (int64_t i = 0; i < outputs.size(); ++i) {
    const Tensor& y = outputs[i];
    if (!grads.empty() && grads[i].defined()) {
      DT_CHECK(grads[i].sizes() == y.sizes(), kRuntimeError, "Mismatch in shape: grad_output[", i,
               "] has a shape of ", grads[i].sizes(), " and output[", i, "] has a shape of ",
               y.sizes(), ".");
      run.start(y, grads[i]);
    } else {
      DT_CHECK(y.numel() == 1, kRuntimeError,
               "grad can be implicitly created only for scalar outputs");
      run.start(y);
    }
  }
}

}  // namespace

Tensor make_seed(const OutputInfo& output) {
  return full(output.sizes, 1, output.dtype, output.device);
}

Tensor sum_to(const Tensor& x, const Dims& sizes) {
  if (x.sizes() == sizes) return x;
  const int extra = x.ndim() - sizes.size();
  Dims dims;
  for (int d = 0; d < x.ndim(); ++d) {
    if (d < extra || (sizes[d - extra] == 1 && x.sizes()[d] != 1)) dims.push_back(d);
  }
  // Leading dimensions alone go away with the sum; the result is then no view, and may become
  // .grad.
  const Tensor y = dims.empty() ? x : sum(x, IntList(dims), dims.size() > extra);
  return y.sizes() == sizes ? y : reshape(y, sizes);
}

Tensor add_gradients(Tensor a, const Tensor& b) {
  if (grad_enabled() || !sole_owner(a) || !is_dense(a.sizes(), a.strides())) return add(a, b);
  add_(a, b);
  return a;
}

void run_backward(TensorList outputs, TensorList grads, TensorList inputs,
                  BackwardOptions options) {
  check_outputs(outputs, grads);
  Run run(options);
  if (!inputs.empty()) run.restrict_to(inputs, outputs);
  // Those that are no leaves keep their gradients from here on.
  for (const Tensor& x : inputs) x.retain_grad();
  start(run, outputs, grads);
  run.finish();
  run.accumulate();
}

std::vector<Tensor> run_grad(TensorList outputs, TensorList inputs, TensorList grads,
                             BackwardOptions options, bool allow_unused) {
  check_outputs(outputs, grads);
  Run run(options);
  run.restrict_to(inputs, outputs);
  start(run, outputs, grads);
  run.finish();
  std::vector<Tensor> result;
  for (int64_t i = 0; i < inputs.size(); ++i) {
    DT_CHECK(allow_unused || run.captured(i).defined(), kRuntimeError,
             "The differentiated Tensor at index ", i,
             " appears to not have been used in the graph. Set "
             "allow_unused=True if this is the desired behavior.");
    result.push_back(run.captured(i));
  }
  return result;
}

}  // namespace dt
