#include "capi/shim/callbacks.h"

#include "core/runtime/context.h"

namespace dt::capi {

std::atomic<bool> drops_pending{false};

namespace {

std::atomic<DroppedLater*> waiting{nullptr};

// What a drop releases may queue drops in turn. They wait for the one that is running: a long chain
// of them would fill the stack.
__thread bool is_dropping = false;

DroppedLater* reversed(DroppedLater* list) {
  DroppedLater* out = nullptr;
  while (list) {
    DroppedLater* next = list->next;
    list->next = out;
    out = list;
    list = next;
  }
  return out;
}

}  // namespace

void DroppedLater::destroy(DroppedLater* d) {
  if (!d->drop) {
    delete d;
    return;
  }
  d->next = waiting.load(std::memory_order_relaxed);
  while (!waiting.compare_exchange_weak(d->next, d, std::memory_order_release)) {
  }
  drops_pending.store(true, std::memory_order_release);
}

void run_drops() noexcept {
  if (is_dropping) return;
  is_dropping = true;
  const KeepError keep;
  // What is queued after the list was taken sets it again: so it has to be cleared before.
  while (drops_pending.exchange(false, std::memory_order_acq_rel)) {
    // Drops run in the order in which they were queued.
    DroppedLater* d = reversed(waiting.exchange(nullptr, std::memory_order_acquire));
    while (d) {
      DroppedLater* next = d->next;
      d->drop(d->data);
      delete d;
      d = next;
    }
  }
  is_dropping = false;
}

UserData::UserData(void* data, void (*drop)(void*)) {
  try {
    block_ = Ref<DroppedLater>::adopt(new DroppedLater(data, drop));
  } catch (...) {
    if (drop) drop(data);
    throw;
  }
}

LentList::LentList(TensorList tensors) {
  handles_.reserve(static_cast<size_t>(tensors.size()));
  try {
    for (const Tensor& t : tensors) {
      handles_.push_back(t.defined() ? make_handle<dt_tensor>(t) : nullptr);
    }
  } catch (...) {
    release();
    throw;
  }
}

LentList::~LentList() {
  release();
}

void LentList::release() {
  for (dt_tensor* h : handles_) {
    if (h) release_slot(bits(h), HandleKind<dt_tensor>::number);
  }
}

uint64_t error_serial() {
  return context().error.serial;
}

void throw_callback_error(dt_status status, uint64_t serial_before) {
  const LastError& error = context().error;
  // dt_error_set, or a dt call inside the callback whose status it passed on.
  if (error.serial != serial_before && static_cast<dt_status>(error.code) == status) {
    throw Error(error.code, error.message);
  }
  fail(Code::kCallback, "a callback returned ", status, " without dt_error_set");
}

}  // namespace dt::capi
