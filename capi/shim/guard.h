// The border: C++ exceptions on one side, status codes on the other.
#pragma once

#include <atomic>
#include <string>

#include "dumbtorch.h"
#include "core/base/error.h"
#include "core/runtime/context.h"

namespace dt::capi {

// Makes the exception that is being handled the thread's last error. `function` is the C name
// without dt_.
dt_status record_exception(const char* function) noexcept;

// While it lives, code of the caller's runs. A context that it leaves in force is taken out again:
// the call around it goes on in its own.
class KeepContext {
 public:
  KeepContext() noexcept : swapped_in_(swapped_context()) {}
  ~KeepContext();
  KeepContext(const KeepContext&) = delete;
  KeepContext& operator=(const KeepContext&) = delete;

 private:
  const Ref<Context> swapped_in_;
};

// The same for code that has no call to fail: a drop, a log function. What goes wrong there is
// nobody's error, and leaves the thread's last one as it was.
class KeepError {
 public:
  KeepError() noexcept;
  ~KeepError();
  KeepError(const KeepError&) = delete;
  KeepError& operator=(const KeepError&) = delete;

 private:
  const KeepContext keep_context_;
  const Ref<Context> context_;
  LastError error_;
};

// User data whose last user is gone, waiting for a thread on which drop may run.
extern std::atomic<bool> drops_pending;
void run_drops() noexcept;
inline void run_pending_drops() noexcept {
  if (__builtin_expect(drops_pending.load(std::memory_order_relaxed), 0)) run_drops();
}

template <class F>
dt_status guard(const char* function, F&& body) noexcept {
  dt_status status = DT_STATUS_OK;
  try {
    body();
  } catch (...) {
    status = record_exception(function);
  }
  run_pending_drops();
  return status;
}

}  // namespace dt::capi
