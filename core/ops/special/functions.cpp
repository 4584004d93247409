// Special functions that are made of others.
#include <cmath>
#include <limits>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/overwrite.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise/checks.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise/rules.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/promotion.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/special.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

constexpr double kLogOfPi = 1.1447298858494002, kRootOfHalf = 0.7071067811865476;

// formula(x) in the dtype that x is calculated in, so that the result alone is rounded.
template <class Formula>
Tensor in_steps(const Tensor& x, Formula formula) {
  const DType t = is_floating(x.dtype()) ? x.dtype() : context().default_dtype;
  return to_dtype(formula(to_dtype(x, info(t).compute)), t);
}

void check_mvlgamma(const Tensor& input, int64_t p) {
  DT_CHECK(p >= 1, kRuntimeError, "p has to be greater than or equal to 1");
  DT_CHECK(!is_bool(input.dtype()), kRuntimeError, "The input tensor may not be a boolean tensor.");
}

// P or Q of floats. It has no derivative by `input`, which backward says if it is asked for one;
// its derivative by `other` has.
Tensor incomplete_gamma(const char* op, const Tensor& input, const Tensor& other, bool upper) {
  const DType t = result_type({input, other});
  DT_CHECK(is_floating(t), kNotImplemented, "\"", op, "_cpu\" not implemented for '", type_word(t),
           "'");
  const Tensor y = gamma_part(input, other, upper ? 1 : 0);
  if (!needs_graph(input)) return y;
  return record("IgammaBackward0", y.detach(), {y, input}, [op](BackwardCall& b) {
    DT_CHECK(!b.wants(1), kNotImplemented, "the derivative for '", op,
             ": input' is not implemented.");
    b.results[0] = b.grad();
  });
}

}  // namespace

Tensor igamma(const Tensor& input, const Tensor& other) {
  return incomplete_gamma("igamma", input, other, false);
}

Tensor igammac(const Tensor& input, const Tensor& other) {
  return incomplete_gamma("igammac", input, other, true);
}

const Tensor& igamma_(const Tensor& self, const Tensor& other) {
  check_written(self, self.sizes(), result_type({self, other}));
  return overwrite(self, igamma(before_overwrite(self, {self, other}), other));
}

const Tensor& igammac_(const Tensor& self, const Tensor& other) {
  check_written(self, self.sizes(), result_type({self, other}));
  return overwrite(self, igammac(before_overwrite(self, {self, other}), other));
}

Tensor ndtr(const Tensor& input) {
  return in_steps(input, [](const Tensor& x) { return mul(erfc(mul(x, -kRootOfHalf)), 0.5); });
}

// Each formula sees only what it is chosen for, so that neither overflows, in a gradient either.
Tensor log_ndtr(const Tensor& input) {
  return in_steps(input, [](const Tensor& x) {
    const Tensor is_low = lt(x, -1);
    const Tensor low = where(is_low, x, -1), high = where(is_low, -1, x);
    const Tensor tail = sub(log(mul(erfcx(mul(low, -kRootOfHalf)), 0.5)), mul(square(low), 0.5));
    return where(is_low, tail, log1p(mul(erfc(mul(high, kRootOfHalf)), -0.5)));
  });
}

Tensor polygamma(int64_t n, const Tensor& input) {
  DT_CHECK(n >= 0, kRuntimeError, "polygamma(n, x) does not support negative n.");
  if (n == 0) return digamma(input);
  if (n == 1) return trigamma(input);
  const double order = static_cast<double>(n), factorial = std::tgamma(order + 1);
  return in_steps(input, [=](const Tensor& x) {
    return mul(zeta(order + 1, x), n % 2 == 1 ? factorial : -factorial);
  });
}

const Tensor& polygamma_(const Tensor& self, int64_t n) {
  check_output_dtype(self.dtype());
  return overwrite(self, polygamma(n, before_overwrite(self, {self})));
}

Tensor mvlgamma(const Tensor& input, int64_t p) {
  check_mvlgamma(input, p);
  const double n = static_cast<double>(p);
  const auto arguments = [n](const Tensor& x) {
    return add(unsqueeze(x, -1), arange(0, -n / 2, -0.5, x.dtype(), x.device()));
  };
  return in_steps(input, [=](const Tensor& x) {
    Tensor y;
    {
      const GradMode no_grad(false);
      y = add(sum(lgamma(arguments(x)), {{-1}}), n * (n - 1) / 4 * kLogOfPi);
    }
    return record("MvlgammaBackward0", y, {x}, [=, x = Saved::input(x)](BackwardCall& b) {
      b.results[0] = mul(b.grad(), sum(digamma(arguments(x.get(b.node))), {{-1}}));
    });
  });
}

const Tensor& mvlgamma_(const Tensor& self, int64_t p) {
  check_mvlgamma(self, p);
  check_output_dtype(self.dtype());
  return overwrite(self, mvlgamma(before_overwrite(self, {self}), p));
}

Tensor entr(const Tensor& input) {
  return in_steps(input, [](const Tensor& x) {
    Tensor y;
    {
      const GradMode no_grad(false);
      y = where(lt(x, 0), -std::numeric_limits<double>::infinity(), neg(xlogy(x, x)));
    }
    return record("SpecialEntrBackward0", y, {x}, [x = Saved::input(x)](BackwardCall& b) {
      b.results[0] = mul(neg(b.grad()), add(log(x.get(b.node)), 1));
    });
  });
}

}  // namespace dt
