#include "core/runtime/context.h"

#include "core/runtime/stream.h"

namespace dt {
namespace {

// A plain pointer, so that reading it is one load: initial-exec TLS needs no call, also in a shared
// library.
__attribute__((tls_model("initial-exec"))) thread_local Context* current = nullptr;

struct Owner {
  Ref<Context> own, swapped_in;
  ~Owner() { current = nullptr; }
};

Owner& owner() {
  static thread_local Owner o;
  return o;
}

Context& make_current() {
  Owner& o = owner();
  if (!o.own) o.own = Ref<Context>::adopt(new Context);
  current = o.own.get();
  return *current;
}

}  // namespace

Context::Context() = default;
Context::~Context() = default;

Context& context() {
  return __builtin_expect(current != nullptr, 1) ? *current : make_current();
}

Ref<Context> swap_context(Ref<Context> next) {
  context();
  Owner& o = owner();
  Ref<Context> before = Ref<Context>::share(current);
  o.swapped_in = next;
  current = next ? next.get() : o.own.get();
  return before;
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
