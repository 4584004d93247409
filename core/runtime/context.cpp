#include "core/runtime/context.h"

#include <pthread.h>

#include "core/base/lock.h"
#include "core/runtime/autocast.h"
#include "core/runtime/generator.h"
#include "core/runtime/stream.h"

namespace dt {
namespace {

// A context is in force where its number is this one. The child of a fork has one thread alone, so
// there what other threads had in force is free.

bool is_swapped_in() {
  return this_thread.context != this_thread.own_context;
}

void after_fork() {
  if (is_swapped_in()) this_thread.context->in_force = process_number.load();
}

void claim(Context& next) {
  static const int at_fork = pthread_atfork(nullptr, nullptr, after_fork);
  (void)at_fork;
  uint32_t before = next.in_force.load();
  do {
    DT_CHECK(before != process_number, kRuntimeError,
             "the context is in force on another thread: swap it out there first");
  } while (!next.in_force.compare_exchange_weak(before, process_number));
}

}  // namespace

Context::Context() = default;
Context::~Context() = default;

Context& make_thread_context() {
  DT_CHECK(!has_thread_ended(), kRuntimeError, "the thread has ended");
  watch_thread();
  this_thread.context = this_thread.own_context = new Context;
  return *this_thread.context;
}

Context* find_context() noexcept {
  try {
    return &context();
  } catch (...) {
    return nullptr;
  }
}

Ref<Context> swapped_context() {
  return Ref<Context>::share(is_swapped_in() ? this_thread.context : nullptr);
}

Ref<Context> swap_context(Ref<Context> next) {
  context();  // from here on nothing may fail but the claim
  if (next && next.get() == this_thread.context) return next;
  if (next) claim(*next);
  const Ref<Context> before =
      is_swapped_in() ? Ref<Context>::adopt(this_thread.context) : Ref<Context>();
  this_thread.context = next ? next.detach() : this_thread.own_context;
  if (before) before->in_force = 0;
  return before;
}

void end_thread_context() noexcept {
  Context* const other = is_swapped_in() ? this_thread.context : nullptr;
  const Ref<Context> own = Ref<Context>::adopt(this_thread.own_context);
  const Ref<Context> swapped_in = Ref<Context>::adopt(other);
  this_thread.context = this_thread.own_context = nullptr;
  if (other) other->in_force = 0;
}

void set_memory_hook(MemoryHook hook) {
  context().memory_hook = hook ? std::make_shared<const MemoryHook>(std::move(hook)) : nullptr;
}

bool run_memory_hook(int64_t bytes) {
  const Ref<Context> c = Ref<Context>::share(&context());  // the hook may swap contexts
  const auto hook = c->memory_hook;                        // or remove itself
  if (!hook || c->in_memory_hook) return false;
  struct Inside {
    bool& flag;
    ~Inside() { flag = false; }
  } inside{c->in_memory_hook = true};
  return (*hook)(bytes);
}

}  // namespace dt
