// Functions of the library as a whole: version, handles alive, contexts, log, and what is in text
// results.
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "capi/shim/adapters.h"
#include "capi/shim/arguments.h"
#include "capi/shim/callbacks.h"
#include "capi/shim/guard.h"
#include "capi/shim/results.h"
#include "core/autograd/accumulate.h"
#include "core/runtime/allocator.h"
#include "core/runtime/context.h"
#include "core/runtime/log.h"

using namespace dt;
using namespace dt::capi;

int64_t dt_abi_version(void) noexcept {
  return DT_API_VERSION;
}

const char* dt_version(void) noexcept {
  return DT_VERSION;
}

int64_t dt_live_handles(const char* kind) noexcept {
  if (!kind) return count_handles(0);
  for (uint32_t i = 1; i <= kKindCount; ++i) {
    if (!std::strcmp(kind, kKindNames[i])) return count_handles(i);
  }
  return -1;
}

dt_status dt_handle_alias(void* handle, void** out) noexcept {
  clear_all(out);
  return guard("handle_alias", [&] {
    need(out, "out");
    *out = reinterpret_cast<void*>(alias_any(bits(handle)));
  });
}

void dt_handle_release(void* handle) noexcept {
  release_any(bits(handle));
  run_pending_drops();
}

// A Pin throws for a handle that is not good, and the last unpin may queue drops but runs none.
int32_t dt_tensor_sole_owner(dt_tensor* input, int64_t* node) noexcept {
  clear_all(node);
  try {
    const Pin<dt_tensor> pin(input, "input");
    const Ref<TensorImpl>& tensor = (*pin).ref();
    std::lock_guard<SpinLock> lock(tensor->autograd.lock);
    const Node* made_by = tensor->autograd.node;
    const Node* hooked = made_by ? made_by : tensor->autograd.accumulator;  // it has the hooks
    if (node && made_by) *node = static_cast<int64_t>(made_by->seq);
    return tensor->use_count() == 1 && (!hooked || hooked->use_count() == 1);
  } catch (...) {
    return 0;
  }
}

dt_status dt_set_allocator(dt_allocate allocate, dt_deallocate deallocate,
                           void* user_data) noexcept {
  return guard("set_allocator", [&] {
    DT_CHECK(allocate && deallocate, kValueError,
             "set_allocator(): allocate and deallocate must be functions, got NULL");
    cpu_set_source({allocate, deallocate, user_data});
  });
}

// ---- contexts

dt_status dt_context_new(dt_context** out) noexcept {
  clear_all(out);
  return guard("context_new", [&] {
    need(out, "out");
    put(out, Ref<Context>::adopt(new Context));
  });
}

dt_status dt_context_swap(dt_context* next, dt_context** out) noexcept {
  clear_all(out);
  return guard("context_swap", [&] {
    const OptionalPin<dt_context> next_pin(next, "next");
    need(out, "out");
    // The handle first: a swap that cannot be undone must not happen.
    std::optional<Owned<dt_context>> before;
    if (const Ref<Context> current = swapped_context()) before.emplace(current);
    swap_context(*next_pin);
    if (before) *out = before->detach();
  });
}

// ---- log

void dt::capi::set_log(const LogHook& log) {
  if (!log) return set_log_sink(nullptr, nullptr, nullptr);
  auto target = std::make_unique<LogHook>(log);
  const auto pass_on = [](void* target, LogLevel level, const char* message) {
    const KeepError keep;
    try {
      (*static_cast<const LogHook*>(target))(level, message);
    } catch (...) {
      return;  // nobody asked for this message: there is no call that could fail
    }
  };
  set_log_sink(pass_on, target.get(), [](void* t) { delete static_cast<LogHook*>(t); });
  target.release();
}

// ---- text results

dt_status dt_bytes_data(dt_bytes* self, const void** data, int64_t* data_n) noexcept {
  clear_all(data, data_n);
  return guard("bytes_data", [&] {
    const Pin<dt_bytes> pin(self, "self");
    need(data, "data");
    need(data_n, "data_n");
    *data = (*pin).c_str();
    *data_n = static_cast<int64_t>((*pin).size());
  });
}

dt_status dt_string_list_get(dt_string_list* self, int64_t index, const char** out) noexcept {
  clear_all(out);
  return guard("string_list_get", [&] {
    const Pin<dt_string_list> pin(self, "self");
    need(out, "out");
    const auto n = static_cast<int64_t>((*pin).size());
    DT_CHECK(index >= 0 && index < n, kIndexError, "index ", index,
             " is out of range for a list of ", n);
    *out = (*pin)[static_cast<size_t>(index)].c_str();
  });
}
