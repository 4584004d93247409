#include "core/autograd/hooks.h"

#include <algorithm>
#include <mutex>

#include "core/autograd/accumulate.h"
#include "core/autograd/grad_slot.h"

namespace dt {
namespace {

using Guard = std::lock_guard<SpinLock>;

// Adds an entry; those of removed hooks go, so that adding and removing for ever stays small.
void insert_entry(HookList& list, HookEntry entry) {
  Guard guard(list.lock);
  std::vector<HookEntry>& entries = list.entries;
  const auto is_removed = [](const HookEntry& e) { return !e.cell->get(); };
  entries.erase(std::remove_if(entries.begin(), entries.end(), is_removed), entries.end());
  entries.push_back(std::move(entry));
}

// A hook may add or remove hooks, and so may other threads.
std::vector<HookEntry> copy_entries(HookList& list) {
  Guard guard(list.lock);
  return list.entries;
}

std::vector<HookEntry> hooks_of(const Hooks& hooks, OtherHooks kind) {
  std::vector<HookEntry> entries = copy_entries(*hooks.get());
  const auto is_other = [kind](const HookEntry& e) { return e.output != kind; };
  entries.erase(std::remove_if(entries.begin(), entries.end(), is_other), entries.end());
  return entries;
}

template <class Hook>
std::weak_ptr<HookCell> insert_hook(Node& node, int32_t output, Hook hook, bool last = false) {
  auto cell = std::make_shared<HookCell>();
  cell->hook = std::make_shared<Hook>(std::move(hook));
  insert_entry(node.hooks.make(), {output, last, cell});
  return cell;
}

std::weak_ptr<HookCell> insert_hook(const Tensor& x, GradHook hook, bool last) {
  const Edge edge = gradient_edge(x);
  return insert_hook(*edge.node, edge.index, std::move(hook), last);
}

void check_replacement(const Tensor& next, const Tensor& grad) {
  DT_CHECK(grad.defined(), kRuntimeError, "can't replace a None gradient with a non-None value");
  DT_CHECK(next.sizes() == grad.sizes(), kRuntimeError, "hook has changed the size of value");
  DT_CHECK(next.dtype() == grad.dtype(), kRuntimeError, "hook has changed the type of value");
}

}  // namespace

void add_retain_hook(const Tensor& x) {
  const auto hook = [slot = grad_slot(x)](const Tensor& grad) {
    slot->add_copy(grad);
    return Tensor();
  };
  x.impl()->autograd.retain_hook = insert_hook(x, hook, true);
}

void move_retain_hook(const Tensor& x) {
  const std::shared_ptr<HookCell> before = x.impl()->autograd.retain_hook.lock();
  if (!before) return;
  add_retain_hook(x);
  before->remove();
}

std::weak_ptr<HookCell> add_hook(const Tensor& x, GradHook hook) {
  DT_CHECK(x.requires_grad(), kRuntimeError,
           "cannot register a hook on a tensor that doesn't require gradient");
  return insert_hook(x, std::move(hook), false);
}

std::weak_ptr<HookCell> add_accumulate_hook(const Tensor& x, GradHook hook) {
  DT_CHECK(x.requires_grad(), kRuntimeError,
           "cannot register a hook on a tensor that doesn't require gradient");
  DT_CHECK(x.is_leaf(), kRuntimeError,
           "post accumulate grad hooks cannot be registered on non-leaf tensors");
  return insert_hook(*accumulator_of(x), kAccumulated, std::move(hook));
}

std::weak_ptr<HookCell> add_node_hook(const Ref<Node>& node, NodeHook hook, bool before) {
  return insert_hook(*node, before ? kBeforeNode : kAfterNode, std::move(hook));
}

std::shared_ptr<void> HookCell::get() {
  Guard guard(lock);
  return hook;
}

void HookCell::remove() {
  std::shared_ptr<void> removed;  // user data is dropped outside the lock
  Guard guard(lock);
  removed.swap(hook);
}

void Hooks::clear() {
  delete get();
}

HookList& Hooks::make() {
  if (HookList* list = get()) return *list;
  auto fresh = std::make_unique<HookList>();
  HookList* other = nullptr;
  if (list_.compare_exchange_strong(other, fresh.get(), std::memory_order_acq_rel))
    return *fresh.release();
  return *other;
}

Tensor run_hooks(HookList& list, int32_t output, Tensor grad) {
  const std::vector<HookEntry> entries = copy_entries(list);
  for (const bool last : {false, true}) {
    for (const HookEntry& entry : entries) {
      if (entry.output != output || entry.last != last) continue;
      const std::shared_ptr<void> hook = entry.cell->get();
      if (!hook) continue;
      Tensor next = (*static_cast<GradHook*>(hook.get()))(grad);
      if (!next.defined()) continue;
      check_replacement(next, grad);
      grad = next;
    }
  }
  return grad;
}

bool has_hooks(const Hooks& hooks, OtherHooks kind) {
  return hooks.get() && !hooks_of(hooks, kind).empty();
}

void run_node_hooks(const Hooks& hooks, OtherHooks kind, Span<Tensor> grads, TensorList arrived) {
  if (!hooks.get()) return;
  for (const HookEntry& entry : hooks_of(hooks, kind)) {
    const std::shared_ptr<void> hook = entry.cell->get();
    if (!hook) continue;
    const TensorList seen(grads.begin(), grads.size());
    const std::vector<Tensor> next = (*static_cast<NodeHook*>(hook.get()))(seen, arrived);
    if (next.empty()) continue;
    const auto n = static_cast<int64_t>(next.size());
    DT_CHECK(n == grads.size(), kRuntimeError,
             "hook has returned an incorrect number of values (got ", n, ", but expected ",
             grads.size(), ")");
    for (int64_t i = 0; i < n; ++i) {
      if (next[i].defined()) check_replacement(next[i], grads[i]);
      grads[i] = next[i];
    }
  }
}

void run_accumulate_hooks(const Hooks& hooks, const Tensor& grad) {
  for (const HookEntry& entry : hooks_of(hooks, kAccumulated)) {
    if (const auto hook = entry.cell->get()) (*static_cast<GradHook*>(hook.get()))(grad);
  }
}

}  // namespace dt
