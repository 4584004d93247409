#include "core/ops/random/checks.h"

#include <cmath>
#include <limits>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise_logic.gen.h"
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

// Whether a number lies between the least and the largest of the dtype.
bool reaches(DType t, int64_t n) {
  return visit(t, [=](auto type) {
    using Limits = std::numeric_limits<typename decltype(type)::type>;
    return n >= Limits::lowest() && n <= Limits::max();
  });
}

// The largest integer up to n that a dtype of floats of so many digits holds.
int64_t rounded_down(int64_t n, int digits) {
  const uint64_t size = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  const int excess = 64 - __builtin_clzll(size | 1) - digits;
  return excess > 0 ? n & -(int64_t{1} << excess) : n;
}

}  // namespace

void check_integers(DType dtype, int64_t low, int64_t high) {
  DT_CHECK(low < high, kRuntimeError,
           "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  DT_CHECK(reaches(dtype, low), kRuntimeError, "from is out of bounds for ", c_type_word(dtype));
  DT_CHECK(reaches(dtype, high - 1), kRuntimeError, "to - 1 is out of bounds for ",
           c_type_word(dtype));
}

void round_bounds(DType dtype, int64_t& low, int64_t& high) {
  if (!is_floating(dtype)) return;
  const int64_t from = low, to = high;
  const int digits = 63 - __builtin_clzll(static_cast<uint64_t>(largest_integer(dtype)));
  if (low > std::numeric_limits<int64_t>::min()) low = -rounded_down(-low, digits);
  high = rounded_down(high - 1, digits) + 1;
  DT_CHECK(low < high, kRuntimeError,
           "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
           "from=",
           from, " >= to=", to);
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

int64_t largest_integer(DType dtype) {
  return integer_range(dtype).high;
}

namespace {

// PyTorch's word for the dtype in a sentence about a distribution of real numbers.
void check_continuous(DType dtype, const char* name, const char* word) {
  DT_CHECK(is_floating(dtype), kRuntimeError, name,
           " distribution is a continuous probability distribution. dtype must be a floating point "
           "but you specified ",
           word);
}

bool somewhere(const Tensor& condition) {
  return condition.numel() > 0 && item(amax(condition)).to_double() != 0;
}

}  // namespace

void check_exponential(DType dtype, double lambd) {
  DT_CHECK(lambd > 0, kRuntimeError, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  check_continuous(dtype, "Exponential", type_word(dtype));
}

void check_geometric(DType dtype, double p) {
  DT_CHECK(p > 0 && p < 1, kRuntimeError, "geometric_ expects p to be in (0, 1), but got p=", p);
  DT_CHECK(!is_bool(dtype), kNotImplemented, "\"geometric_cpu\" not implemented for 'Bool'");
}

void check_cauchy(DType dtype, double sigma) {
  DT_CHECK(sigma > 0, kRuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_continuous(dtype, "Cauchy", c_type_word(dtype));
}

void check_log_normal(DType dtype, double std) {
  DT_CHECK(std > 0, kRuntimeError, "log_normal_ expects std > 0.0, but found std=", std);
  DT_CHECK(is_floating(dtype), kNotImplemented, "\"log_normal_cpu\" not implemented for '",
           type_word(dtype), "'");
}

// NaN is none either. A GPU would have to be waited for.
void check_rates(const Tensor& input) {
  check_floating(input, "poisson_cpu");
  if (input.numel() == 0 || input.device() != kCpu) return;
  const GradMode no_grad(false);
  DT_CHECK(item(amin(input)).to_double() >= 0, kRuntimeError,
           "invalid Poisson rate, expected rate to be non-negative");
}

void check_binomial(const Tensor& count, const Tensor& prob) {
  DT_CHECK(
      is_floating(count.dtype()), kValueError,
      "binomial only supports floating-point dtypes for count, got: ", type_word(count.dtype()));
  DT_CHECK(count.dtype() == prob.dtype(), kRuntimeError, "Found dtype ", type_word(prob.dtype()),
           " but expected ", type_word(count.dtype()));
}

void check_multinomial(const Tensor& input, int64_t num_samples, bool replacement) {
  constexpr int64_t kMostWeights = int64_t{1} << 24;
  DT_CHECK(input.ndim() == 1 || input.ndim() == 2, kRuntimeError, "prob_dist must be 1 or 2 dim");
  DT_CHECK(
      is_floating(input.dtype()), kRuntimeError,
      "multinomial only supports floating-point dtypes for input, got: ", type_word(input.dtype()));
  DT_CHECK(num_samples > 0, kRuntimeError, "cannot sample n_sample <= 0 samples");
  const int64_t n = input.sizes().back();
  DT_CHECK(replacement || num_samples <= n, kRuntimeError,
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  DT_CHECK(n > 0 || (input.ndim() == 2 && input.size(0) == 0), kRuntimeError,
           "invalid multinomial distribution (sum of probabilities <= 0)");
  DT_CHECK(n <= kMostWeights, kRuntimeError, "number of categories cannot exceed 2^24");
}

void check_weights(const Tensor& input) {
  if (input.device() != kCpu) return;
  const Tensor sums = sum(input, {{-1}});
  const bool valid = item(amin(input)).to_double() >= 0 && item(amin(sums)).to_double() > 0 &&
                     std::isfinite(item(amax(sums)).to_double());
  if (!valid) fail_weights(input, false);
}

void fail_weights(const Tensor& input, bool replacement) {
  const GradMode no_grad(false);
  const bool is_infinite = somewhere(logical_not(isfinite(input)));
  const bool is_negative = somewhere(logical_not(ge(input, 0)));  // or NaN
  if (!replacement && (is_negative || is_infinite)) {
    fail(Code::kRuntimeError, "probability tensor contains either `inf`, `nan` or element < 0");
  }
  if (is_negative) {
    fail(Code::kRuntimeError,
         "invalid multinomial distribution (encountering probability entry < 0)");
  }
  if (is_infinite) {
    fail(Code::kRuntimeError,
         "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
  }
  fail(Code::kRuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)");
}

}  // namespace dt
