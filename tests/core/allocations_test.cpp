// Small steps take their memory from the library's cache: what they ask of the system besides,
// after the first time, is counted here.
#include <cstdio>
#include <functional>

#include "core/autograd/engine.h"
#include "core/ops/ops.h"
#include "tests/core/heap.h"

namespace dt {
namespace {

int failures = 0;

void check(const char* what, int64_t most, const std::function<void()>& step) {
  for (int i = 0; i < 3; ++i) step();
  const int64_t before = heap::allocations;
  step();
  const int64_t count = heap::allocations - before;
  if (count <= most) return;
  std::printf("FAIL %s: %lld allocations, at most %lld are needed\n", what,
              static_cast<long long>(count), static_cast<long long>(most));
  ++failures;
}

int run() {
  const Tensor x = randn({8, 8}), w = randn({8, 8}), bias = randn({8});
  const Tensor parameter = randn({8, 8});
  parameter.set_requires_grad(true);
  check("add", 0, [&] { add(x, w); });
  check("add of a number", 0, [&] { add(x, 2.5); });
  check("mul, recorded", 0, [&] { mul(parameter, w); });
  check("matmul, recorded", 0, [&] { matmul(parameter, w); });
  check("linear, recorded", 0, [&] { linear(x, parameter, bias); });
  check("softmax, recorded", 0, [&] { softmax(parameter, 1); });
  check("a view", 0, [&] { transpose(x, 0, 1); });
  // The nodes that wait, and which of them is next.
  check("exp, sum and backward", 2, [&] {
    const Tensor y = sum(exp(parameter));
    run_backward({y}, {}, {}, {});
    parameter.set_grad(Tensor());
  });
  return failures != 0;
}

}  // namespace
}  // namespace dt

int main() {
#if defined(__SANITIZE_ADDRESS__)
  return 77;  // there every object has memory of its own
#else
  return dt::run();
#endif
}
