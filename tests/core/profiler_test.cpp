// What a profiler or a trace has no memory for is no error of an op that has run.
#include "core/runtime/profiler.h"

#include <cstdio>
#include <cstdlib>

#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/transfer.h"
#include "tests/core/heap.h"

namespace dt {
namespace {

// Adds 1 to x with memory for so many allocations; whether that was no error.
bool add_with(int64_t allocations, const Tensor& x) {
  heap::left = allocations;
  bool succeeded = true;
  try {
    add_(x, 1);
  } catch (...) {
    succeeded = false;
  }
  heap::left = -1;
  return succeeded;
}

int run() {
  int failures = 0;
  int64_t missed = 0;
  for (int64_t allocations = 0; allocations < 20; ++allocations) {
    const Tensor x = zeros({2, 3});
    add_(x, 0);  // what is made once, is
    const Ref<Profiler> profiler = Profiler::start({true, true, false, 1000});
    const bool succeeded = add_with(allocations, x);
    profiler->stop();
    missed += profiler->left_out();
    const double sum = item(select(select(x, 0, 0), 0, 0)).to_double();
    if (sum == (succeeded ? 1 : 0)) continue;
    std::printf("FAIL after %lld allocations an addition that %s has added %g\n",
                static_cast<long long>(allocations), succeeded ? "succeeded" : "failed", sum);
    ++failures;
  }
  if (missed == 0) {
    std::printf("FAIL nothing was left out\n");
    ++failures;
  }
  return failures;
}

}  // namespace
}  // namespace dt

int main() {
  setenv("DT_TRACE", "1", 1);
  return dt::run() != 0;
}
