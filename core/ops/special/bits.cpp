// Functions of the bits of floating-point numbers: nextafter, frexp. They are composed of
// operations on the integers that have the same bits.
#include <limits>

#include "core/autograd/gradients.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/overwrite.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise/rules.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/special.gen.h"
#include "core/ops/promotion.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// The integers as wide as a floating dtype.
DType bits_dtype(DType t) {
  const int64_t bytes = info(t).bytes;
  return bytes == 8 ? kDTypeOf<int64_t> : bytes == 4 ? kDTypeOf<int32_t> : kDTypeOf<int16_t>;
}

// Numbers of one sign are ordered as their bits are; from 0 the first step is the least number.
Tensor next_number(const Tensor& x, const Tensor& towards) {
  const DType t = x.dtype(), bits = bits_dtype(t);
  const Tensor away = eq(lt(x, towards), gt(x, 0));
  const Tensor step = sub(mul(to_dtype(away, bits), 2), 1);
  const Tensor stepped = view_dtype(add(view_dtype(x, bits), step), t);
  const Tensor least = view_dtype(ones_like(x, bits), t);
  const Tensor y = where(eq(x, 0), copysign(least, towards), stepped);
  const Tensor finite = where(eq(x, towards), towards, y);
  return where(ne(x, x), x, where(ne(towards, towards), towards, finite));
}

// The operands in the dtype of the result.
std::vector<Tensor> alike(const Tensor& input, const Tensor& other) {
  const DType t = result_type({input, other});
  DT_CHECK(is_floating(t), kNotImplemented, "\"nextafter_cpu\" not implemented for '", type_word(t),
           "'");
  return {to_dtype(input, t), to_dtype(other, t)};
}

// A number whose bits are `sign and fraction` | `exponent`, the fields of T's format.
template <class T>
struct Fields {
  using Limits = std::numeric_limits<T>;
  static constexpr int kFraction = Limits::digits - 1;
  static constexpr int64_t kExponents = 2 * int64_t{Limits::max_exponent} - 1;
  static constexpr int64_t kHalf = Limits::max_exponent - 2;  // the exponent of 1/2

  static constexpr double kLeast = double{Limits::min()};  // below, the fraction has no leading 1
  static constexpr int kLift = 64;                         // 2^kLift makes normal numbers of those
};

// The mantissa and the exponent of x, which is of type T.
template <class T>
std::pair<Tensor, Tensor> parts_of(const Tensor& x) {
  using F = Fields<T>;
  const Tensor lifted = lt(abs(x), F::kLeast);
  const Tensor bits = view_dtype(where(lifted, mul(x, 0x1p64), x), bits_dtype(x.dtype()));
  const int64_t exponents = F::kExponents << F::kFraction;
  const Tensor field = bitwise_right_shift(bitwise_and(bits, exponents), F::kFraction);
  const Tensor exponent = sub(sub(field, F::kHalf), mul(lifted, F::kLift));
  const Tensor mantissa = bitwise_or(bitwise_and(bits, ~exponents), F::kHalf << F::kFraction);
  const Tensor as_they_are = logical_or(eq(x, 0), logical_not(isfinite(x)));
  return {where(as_they_are, x, view_dtype(mantissa, x.dtype())), where(as_they_are, 0, exponent)};
}

// x in that dtype, in the order of a copy of the input: steps may lose strides of sizes of 1.
Tensor ordered(const Tensor& input, const Tensor& x, DType dtype) {
  const Dims strides = format_strides(input, MemoryFormat::kPreserve);
  const Tensor y = to_dtype(x, dtype);
  return y.strides() == strides ? y : clone_strided(y, strides);
}

// `kept`: what the derivative sees of the input.
Tensor nextafter_of(const Tensor& input, const Tensor& other, const Tensor& kept) {
  Tensor y;
  {
    const GradMode no_grad(false);
    const std::vector<Tensor> operands = alike(input, other);
    y = next_number(operands[0], operands[1]);
  }
  if (!needs_graph({input, other})) return y;
  if (!needs_graph(input)) {
    return record("NextafterBackward0", y, {input, other},
                  [](BackwardCall& call) { call.results[1] = zeros_like(call.grad()); });
  }
  return record("NextafterBackward0", y, {input, other},
                [a = Saved::input(kept), b = Saved::input(other)](BackwardCall& call) {
                  const Tensor differs = ne(a.get(call.node), b.get(call.node));
                  if (call.wants(0)) call.results[0] = where(differs, call.grad(), 0);
                  if (call.wants(1)) call.results[1] = zeros_like(call.grad());
                });
}

}  // namespace

Tensor nextafter(const Tensor& input, const Tensor& other) {
  return nextafter_of(input, other, input);
}

const Tensor& nextafter_(const Tensor& self, const Tensor& other) {
  const Tensor y = nextafter_of(self, other, needs_graph(self) ? clone(self.detach()) : self);
  check_written(self, y.sizes(), y.dtype());
  return overwrite(self, y);
}

std::tuple<Tensor, Tensor> frexp(const Tensor& input) {
  DT_CHECK(is_floating(input.dtype()), kRuntimeError,
           "torch.frexp() only supports floating-point dtypes");
  std::pair<Tensor, Tensor> parts;
  {
    const GradMode no_grad(false);
    const Tensor x = to_dtype(input, info(input.dtype()).compute);
    parts = x.dtype() == kRealDType ? parts_of<double>(x) : parts_of<float>(x);
  }
  const Tensor exponent = ordered(input, parts.second, kDTypeOf<int32_t>);
  const Tensor mantissa = record("FrexpBackward0", ordered(input, parts.first, input.dtype()),
                                 {input}, [exponent = Saved::input(exponent)](BackwardCall& b) {
                                   b.results[0] = ldexp(b.grad(), neg(exponent.get(b.node)));
                                 });
  return {mantissa, exponent};
}

}  // namespace dt
