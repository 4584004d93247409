// Random state: what a seed, a state and a reserved range of counters promise.
#include <cstdio>
#include <set>
#include <thread>
#include <vector>

#include "core/autograd/engine.h"
#include "core/ops/copy.h"
#include "core/ops/ops.h"
#include "core/runtime/generator.h"
#include "core/runtime/thread_pool.h"

namespace dt {
namespace {

int failures = 0;

void check(bool ok, const char* what) {
  if (ok) return;
  std::printf("FAIL %s\n", what);
  ++failures;
}

bool same(const Tensor& a, const Tensor& b) {
  return equal(a.detach(), b.detach());
}

void seed(int64_t value) {
  default_generator()->manual_seed(value);
}

void check_seed_and_state() {
  seed(1);
  const Tensor a = randn({1001}), b = rand({1001});
  const Tensor state = default_generator()->get_state();
  const Tensor c = rand({7});
  seed(1);
  check(same(a, randn({1001})), "a seed repeats its numbers");
  check(!same(b, c) && same(b, rand({1001})), "the sequence goes on");
  default_generator()->set_state(state);
  check(same(c, rand({7})), "a state continues");
  const Ref<Generator> one = new_generator(kCpu), two = new_generator(kCpu);
  check(same(rand({5}, one), rand({5}, two)), "new generators begin alike");
  check(one->seed() == 67280421310721, "a new generator has PyTorch's seed");
}

void check_threads_and_layout() {
  for (int64_t n : {1, 5, 100003}) {
    set_num_threads(1);
    seed(2);
    const Tensor serial = randn({n}), order = randperm(n);
    set_num_threads(4);
    seed(2);
    check(same(serial, randn({n})) && same(order, randperm(n)), "numbers do not depend on threads");
  }
  seed(3);
  const Tensor rows = uniform_(empty({4, 6}));
  seed(3);
  const Tensor columns = t(empty({6, 4}));
  uniform_(columns);
  check(same(rows, columns), "numbers do not depend on the layout");
}

// Two threads that draw at once get different numbers.
void check_reserve() {
  const Ref<Generator> shared = new_generator(kCpu);
  std::vector<int64_t> starts[2];
  std::thread threads[2];
  for (int k = 0; k < 2; ++k) {
    threads[k] = std::thread([&, k] {
      for (int i = 0; i < 1000; ++i) starts[k].push_back(shared->reserve(3).advance);
    });
  }
  std::set<int64_t> distinct;
  for (int k = 0; k < 2; ++k) {
    threads[k].join();
    distinct.insert(starts[k].begin(), starts[k].end());
  }
  check(distinct.size() == 2000, "threads reserve different counters");
}

// The gradient of dropout draws again what the forward drew, whatever was seeded in between.
void check_dropout() {
  const Tensor x = ones({64, 3});
  x.set_requires_grad(true);
  seed(4);
  const Tensor y = dropout(x, 0.5);
  seed(99);
  run_backward({sum(y)}, {}, {}, {});
  check(same(y, x.grad()), "the gradient of dropout uses the forward's numbers");
  seed(4);
  const Tensor z = mul(x, 1);
  dropout_(z, 0.5);
  check(same(y, z), "dropout_ draws the same numbers");
}

}  // namespace
}  // namespace dt

int main() {
  using namespace dt;
  try {
    check_seed_and_state();
    check_threads_and_layout();
    check_reserve();
    check_dropout();
  } catch (const Error& e) {
    check(false, e.what());
  }
  std::printf(failures ? "%d failures\n" : "random state is as promised\n", failures);
  return failures != 0;
}
