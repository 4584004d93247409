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

std::weak_ptr<HookCell> insert_hook(HookList& list, int32_t output, GradHook hook, bool last) {
  auto cell = std::make_shared<HookCell>();
  cell->hook = std::make_shared<GradHook>(std::move(hook));
  insert_entry(list, {output, last, cell});
  return cell;
}

std::weak_ptr<HookCell> insert_hook(const Tensor& x, GradHook hook, bool last) {
  const Edge edge = gradient_edge(x);
  return insert_hook(edge.node->hooks.make(), edge.index, std::move(hook), last);
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
  return insert_hook(accumulator_of(x)->accumulated.make(), 0, std::move(hook), false);
}

std::shared_ptr<GradHook> HookCell::get() {
  Guard guard(lock);
  return hook;
}

void HookCell::remove() {
  std::shared_ptr<GradHook> removed;  // user data is dropped outside the lock
  Guard guard(lock);
  removed.swap(hook);
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
      const std::shared_ptr<GradHook> hook = entry.cell->get();
      if (!hook) continue;
      Tensor next = (*hook)(grad);
      if (!next.defined()) continue;
      DT_CHECK(next.sizes() == grad.sizes(), kRuntimeError, "hook has changed the size of value");
      DT_CHECK(next.dtype() == grad.dtype(), kRuntimeError, "hook has changed the type of value");
      grad = next;
    }
  }
  return grad;
}

void run_accumulate_hooks(HookList& list, const Tensor& grad) {
  for (const HookEntry& entry : copy_entries(list)) {
    if (const std::shared_ptr<GradHook> hook = entry.cell->get()) (*hook)(grad);
  }
}

}  // namespace dt
