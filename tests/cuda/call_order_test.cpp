// Which calls of a capture wait for which, against the definition: two calls that touch the same
// byte, unless both only read it, are done in their order, and no call is waited for without need.
#include "kernels/cuda/call_order.h"

#include <random>

#include "tests/cuda/check.h"

namespace {

using dt::cuda::CallOrder;
using dt::cuda::kEverything;
using dt::cuda::Touched;
using Touches = std::vector<Touched>;

void test_branches_and_joins() {
  CallOrder order;
  const Touched a = {0, 4, false}, b = {4, 8, false}, c = {8, 12, false};
  const auto write = [](Touched t) { return Touched{t.begin, t.end, true}; };
  CHECK(order.add({write(a)}).empty());
  CHECK((order.add({a, write(b)}) == std::vector<int>{0}));
  CHECK((order.add({a, write(c)}) == std::vector<int>{0}));  // beside the one before
  CHECK((order.last() == std::vector<int>{1, 2}));
  CHECK((order.add({write(a)}) == std::vector<int>{2, 1}));  // who reads what is overwritten
  CHECK((order.add({b, c}) == std::vector<int>{2, 1}));
  CHECK((order.add({kEverything}) == std::vector<int>{4, 3}));
  CHECK((order.add({b}) == std::vector<int>{5}));
  CHECK((order.last() == std::vector<int>{6}));
  order.clear();
  CHECK(order.last().empty() && order.add({b}).empty());
}

void test_what_is_next_to_each_other_or_empty() {
  CallOrder order;
  CHECK(order.add({{0, 8, true}}).empty());
  CHECK(order.add({{8, 16, true}}).empty());
  CHECK(order.add({{4, 4, true}}).empty());
  CHECK((order.add({{7, 9, false}}) == std::vector<int>{1, 0}));
}

bool conflict(const Touches& a, const Touches& b) {
  for (const Touched& x : a) {
    for (const Touched& y : b) {
      for (uintptr_t byte = x.begin; byte < x.end; ++byte) {
        if (byte >= y.begin && byte < y.end && (x.is_written || y.is_written)) return true;
      }
    }
  }
  return false;
}

void test_random_calls() {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    CallOrder order;
    std::vector<Touches> calls;
    std::vector<std::vector<bool>> must, waits;  // through others, too
    const int memory = 8 + below(40);
    for (int number = 0; number < 40; ++number) {
      Touches touches;
      for (int i = below(4); i >= 0; --i) {
        const uintptr_t begin = below(memory), end = begin + below(8);
        touches.push_back({begin, end, below(3) == 0});
      }
      std::vector<bool> needed(number), reached(number);
      for (int before = number - 1; before >= 0; --before) {
        needed[before] = needed[before] || conflict(touches, calls[before]);
        for (int i = 0; needed[before] && i < before; ++i) needed[i] = needed[i] || must[before][i];
      }
      const std::vector<int> awaited = order.add(touches);
      for (int call : awaited) {
        CHECK(conflict(touches, calls[call]));
        CHECK(!reached[call]);  // none that another one waits for
        reached[call] = true;
        for (int i = 0; i < call; ++i) reached[i] = reached[i] || waits[call][i];
      }
      CHECK(reached == needed);
      calls.push_back(touches);
      must.push_back(needed);
      waits.push_back(reached);
    }
    std::vector<bool> is_last(calls.size(), true);
    for (const std::vector<bool>& of_call : waits) {
      for (size_t i = 0; i < of_call.size(); ++i) {
        if (of_call[i]) is_last[i] = false;
      }
    }
    std::vector<int> last;
    for (size_t i = 0; i < is_last.size(); ++i) {
      if (is_last[i]) last.push_back(static_cast<int>(i));
    }
    CHECK(order.last() == last);
  }
}

}  // namespace

int main() {
  test_branches_and_joins();
  test_what_is_next_to_each_other_or_empty();
  test_random_calls();
  return test::finish();
}
