// What is in force for the code that runs now: grad mode, defaults, the last error. Every thread
// has one of its own, and a binding whose tasks move between threads (goroutines, coroutines) can
// give each task one, which it swaps in wherever the task runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/device.h"
#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/base/ref.h"
#include "core/runtime/thread.h"

namespace dt {

struct Autocasting;
class DefaultGenerators;
class Graph;
class Stream;
struct SavedHooks;
struct TensorImpl;
class RunningBackward;

// What the last failing call of the C API reported (capi/shim/errors.cpp).
struct LastError {
  Code code = Code::kOk;
  std::string message;
  uint64_t serial = 0;  // counts errors: tells a new one from the one before
};

// Lets go of what it can when `bytes` more are needed; true when it is worth another try.
using MemoryHook = std::function<bool(int64_t bytes)>;

struct Context : RefCounted {
  bool grad_enabled = true;
  bool is_autocasting = false;   // ops that have a policy cast their operands
  bool anomaly_enabled = false;  // check gradients for NaN and name the op that made it
  DType default_dtype = kDTypeOf<float>;
  int32_t cuda_device = 0;                   // which one "cuda" means
  std::vector<Ref<Stream>> streams;          // by CUDA device; null: its main stream
  Graph* graph = nullptr;                    // what this thread is capturing
  std::unique_ptr<Autocasting> autocasting;  // null: it was never on
  LastError error;
  Ref<DefaultGenerators> own_generators;  // null: the process's are used
  // Of the context, not of the process: threads of the library's own never run user code, and two
  // interpreters in two threads do not call into each other.
  std::shared_ptr<const MemoryHook> memory_hook;
  bool in_memory_hook = false;
  std::vector<std::shared_ptr<const SavedHooks>> saved_hooks;  // the last is in force
  RunningBackward* backward = nullptr;                         // the innermost of those that run
  // Whose memory the next tensor like it is made in (ops/given_memory.h); or null.
  Ref<TensorImpl> offered;
  // What swap_context made current somewhere, and forks since: see there. 0: on no thread.
  std::atomic<uint32_t> in_force{0};

  Context();
  ~Context();
  static void destroy(Context* c) { delete c; }

  Device default_device() const {
    return follows_current_ ? Device{DeviceType::kCuda, cuda_device} : default_device_;
  }
  void set_default_device(Device device) {
    default_device_ = device;
    follows_current_ = false;
  }
  // Whichever CUDA device is current when it is asked for.
  void set_default_device_to_current() { follows_current_ = true; }

 private:
  Device default_device_ = kCpu;
  bool follows_current_ = false;
};

Context& make_thread_context();

// The context in force. Throws if the thread has none and can have none: it has ended, or there is
// no memory.
inline Context& context() {
  Context* c = this_thread.context;
  return __builtin_expect(c != nullptr, 1) ? *c : make_thread_context();
}
// The same, but null where context() throws.
Context* find_context() noexcept;

// Makes `next` current on this thread and returns what was. Null is the thread's own, which never
// leaves it. Throws if `next` is in force on another thread.
Ref<Context> swap_context(Ref<Context> next);
// What swap_context(null) would return.
Ref<Context> swapped_context();

// Frees the thread's own context, and puts back one that was swapped in.
void end_thread_context() noexcept;

// Null removes the context's hook.
void set_memory_hook(MemoryHook hook);
// Called when memory has run out. False without a hook, and inside one: what a hook itself
// allocates must not call it again.
bool run_memory_hook(int64_t bytes);

inline bool grad_enabled() {
  return context().grad_enabled;
}

// Sets grad mode for a block.
class GradMode {
 public:
  explicit GradMode(bool enabled) : before_(context().grad_enabled) {
    context().grad_enabled = enabled;
  }
  ~GradMode() { context().grad_enabled = before_; }
  GradMode(const GradMode&) = delete;

 private:
  bool before_;
};

inline DType dtype_or_default(DType t) {
  return t == DType::kDefault ? context().default_dtype : t;
}
inline Device device_or_default(Device d) {
  return d.type == DeviceType::kDefault ? context().default_device() : d;
}

}  // namespace dt
