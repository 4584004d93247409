// What layers' rows may divide: numbers as in Python, and tensors.
#include <cstdio>

#include "core/nn/layer_support.h"

namespace dt::test {
namespace {

int failures = 0;

void expect(const char* what, double got, double expected) {
  if (got == expected) return;
  ++failures;
  std::fprintf(stderr, "%s is %g, not %g\n", what, got, expected);
}

void check_quotients() {
  const Tensor three = full({}, 3.0), four = full({}, 4.0);
  expect("1 / 2", quotient(int64_t{1}, int64_t{2}), 0.5);
  expect("a tensor / 2", number(quotient(three, 2)), 1.5);
  expect("3 / a tensor", number(quotient(3, four)), 0.75);
  expect("a tensor / a tensor", number(quotient(three, four)), 0.75);
}

}  // namespace
}  // namespace dt::test

int main() {
  dt::test::check_quotients();
  return dt::test::failures != 0;
}
