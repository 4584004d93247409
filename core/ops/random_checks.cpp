#include "core/ops/random_checks.h"

#include <limits>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/reduce.gen.h"

namespace dt {
namespace {

// The integers that a dtype holds without gaps.
struct IntegerRange {
  int64_t low, high;
};

IntegerRange integer_range(DType t) {
  return visit(t, [](auto type) -> IntegerRange {
    using Limits = std::numeric_limits<typename decltype(type)::type>;
    if constexpr (kIsFloating<typename decltype(type)::type>) {
      return {-(int64_t{1} << Limits::digits), int64_t{1} << Limits::digits};
    } else {
      return {int64_t{Limits::lowest()}, int64_t{Limits::max()}};
    }
  });
}

}  // namespace

void check_integers(DType dtype, int64_t low, int64_t high) {
  DT_CHECK(low < high, kRuntimeError,
           "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  const IntegerRange range = integer_range(dtype);
  DT_CHECK(low >= range.low && low <= range.high, kRuntimeError, "from is out of bounds for ",
           c_type_word(dtype));
  DT_CHECK(high - 1 >= range.low && high - 1 <= range.high, kRuntimeError,
           "to - 1 is out of bounds for ", c_type_word(dtype));
}

void check_randperm_dtype(DType dtype) {
  DT_CHECK(!is_bool(dtype), kNotImplemented, "\"randperm\" not implemented for 'Bool'");
}

void check_randperm_length(int64_t n, DType dtype) {
  DT_CHECK(n - 1 <= integer_range(dtype).high, kRuntimeError, "value cannot be converted to type ",
           c_type_word(dtype), " without overflow");
}

void check_probabilities(const Tensor& input) {
  if (input.numel() == 0 || input.device() != kCpu) return;  // a GPU would have to be waited for
  const GradMode no_grad(false);
  const bool valid = item(amin(input)).to_double() >= 0 && item(amax(input)).to_double() <= 1;
  DT_CHECK(valid, kRuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
}

void check_probability(double p) {
  DT_CHECK(p >= 0 && p <= 1, kRuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=", p);
}

void check_uniform(DType dtype, double low, double high) {
  DT_CHECK(low <= high, kRuntimeError,
           "uniform_ expects to return a [from, to) range, but found from=", low, " > to=", high);
  const double widest = visit(is_floating(dtype) ? dtype : kDTypeOf<float>, [](auto type) {
    return static_cast<double>(std::numeric_limits<typename decltype(type)::type>::max());
  });
  DT_CHECK(high - low <= widest, kRuntimeError, "uniform_ expects to-from <= ", widest,
           ", but found to=", high, " and from=", low);
}

void check_normal(double std) {
  DT_CHECK(std >= 0, kRuntimeError, "normal expects std >= 0.0, but found std ", std);
}

}  // namespace dt
