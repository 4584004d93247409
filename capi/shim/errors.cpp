// The thread's last error, which lives in its context.
#include <new>
#include <stdexcept>

#include "capi/shim/guard.h"
#include "capi/shim/types.gen.h"
#include "core/runtime/context.h"

namespace dt::capi {
namespace {

void set_error(Code code, std::string message) {
  LastError& error = context().error;
  error.code = code;
  error.message = std::move(message);
  ++error.serial;
}

// Errors of a thread that has no context to keep them in.
Code lasting_code() noexcept {
  return has_thread_ended() ? Code::kRuntimeError : Code::kOutOfMemory;
}
const char* lasting_message() noexcept {
  return has_thread_ended() ? "the thread has ended" : "out of memory";
}

// The rule: a message is "function: sentence". Sentences do not name their function; one that does
// has come through a call of the same function further in.
dt_status record(const char* function, Code code, const char* message) noexcept {
  try {
    const std::string name = std::string(function) + ": ", text = message;
    set_error(code, text.compare(0, name.size(), name) == 0 ? text : name + text);
  } catch (...) {
    code = lasting_code();
    // No memory for the words. These fit into the string itself.
    try {
      set_error(code, lasting_message());
    } catch (...) {
    }
  }
  return static_cast<dt_status>(code);
}

}  // namespace

dt_status record_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& e) {
    return record(function, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return record(function, Code::kOutOfMemory, "out of memory");
  } catch (const std::length_error&) {  // of more elements than there can be
    return record(function, Code::kOutOfMemory, "out of memory");
  } catch (const std::exception& e) {
    return record(function, Code::kInternal, e.what());
  } catch (...) {
    return record(function, Code::kInternal, "unknown C++ exception");
  }
}

KeepContext::~KeepContext() {
  if (swapped_context().get() == swapped_in_.get()) return;
  try {
    swap_context(swapped_in_);
  } catch (...) {  // by now it is in force on another thread
  }
}

KeepError::KeepError() noexcept : context_(Ref<Context>::share(find_context())) {
  if (context_) std::swap(error_, context_->error);
}

KeepError::~KeepError() {
  if (context_) std::swap(error_, context_->error);
}

}  // namespace dt::capi

using namespace dt;
using namespace dt::capi;

dt_status dt_error_code(void) noexcept {
  const Context* c = find_context();
  return static_cast<dt_status>(c ? c->error.code : lasting_code());
}

const char* dt_error_message(void) noexcept {
  const Context* c = find_context();
  return c ? c->error.message.c_str() : lasting_message();
}

dt_status dt_error_set(dt_status code, const char* message) noexcept {
  // Success is no error: a callback that reports one must not look as if it had worked.
  const bool known = code > DT_STATUS_OK && code <= EnumLimit<Code>::last;
  const Code kept = known ? static_cast<Code>(code) : Code::kCallback;
  try {
    set_error(kept, message ? message : "");
  } catch (...) {
    return static_cast<dt_status>(lasting_code());
  }
  return static_cast<dt_status>(kept);
}

void dt_error_clear(void) noexcept {
  if (Context* c = find_context()) c->error = LastError();
}
