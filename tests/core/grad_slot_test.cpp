// x.grad: threads that add to it at once, and a hook that does so while another gradient is added.
#include "core/autograd/grad_slot.h"

#include <cstdio>
#include <thread>
#include <vector>

#include "core/ops/ops.h"
#include "core/runtime/context.h"
#include "core/runtime/transfer.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  std::printf("FAIL %s\n", what);
  ++failures;
}

void add_once(GradSlot& slot, bool create_graph) {
  const Tensor grad = ones({8}, kDTypeOf<float>, kCpu);
  slot.accumulate(grad, grad.strides(), create_graph);
}

void test_threads(bool create_graph) {
  constexpr int kThreads = 4, kRounds = 2000;
  const auto slot = Ref<GradSlot>::adopt(new GradSlot);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) add_once(*slot, create_graph);
    });
  }
  for (std::thread& t : threads) t.join();
  check(item(sum(slot->get())).to_double() == 8.0 * kThreads * kRounds, "every gradient counts");
}

// Memory runs out while a gradient is added: what the user does then may end in the same place.
void test_hook() {
  const auto slot = Ref<GradSlot>::adopt(new GradSlot);
  const Tensor vast = expand(ones({1}, kDTypeOf<float>, kCpu), {int64_t{1} << 56});
  int calls = 0;
  set_memory_hook([&](int64_t) {
    ++calls;
    add_once(*slot, false);
    return false;
  });
  bool failed = false;
  try {
    slot->accumulate(vast, {1}, true);
  } catch (const Error& error) {
    failed = error.code() == Code::kOutOfMemory;
  }
  set_memory_hook({});
  check(failed && calls == 1, "the hook adds while memory has run out");
  check(item(sum(slot->get())).to_double() == 8.0, "and what it adds stays");
}

}  // namespace
}  // namespace dt

int main() {
  dt::test_threads(false);
  dt::test_threads(true);
  dt::test_hook();
  return dt::failures != 0;
}
