// Activations that choose among elementwise rows, or check what a row cannot say.
#include <cmath>

#include "core/ops/checks.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_activation.gen.h"
#include "core/ops/pointwise_logic.gen.h"

namespace dt {
namespace {

constexpr double kSeluAlpha = 1.6732632423543772, kSeluScale = 1.0507009873554805;

void check_hardtanh(const Tensor& input, double min, double max) {
  DT_CHECK(!is_bool(input.dtype()), kRuntimeError, "Bool inputs not supported for hardtanh");
  DT_CHECK(!(min > max), kValueError, "min_val cannot be greater than max_val");
  const bool is_unsigned = visit(
      input.dtype(), [](auto type) { return std::is_unsigned_v<typename decltype(type)::type>; });
  DT_CHECK(!is_unsigned || min > -1, kRuntimeError,
           "cannot do hardtanh on an unsigned type with negative limits");
  if (is_floating(input.dtype())) return;
  check_fits(std::trunc(min), input.dtype());
  check_fits(std::trunc(max), input.dtype());
}

void check_celu(double alpha) {
  DT_CHECK(alpha != 0, kRuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU");
}

void check_threshold(const Tensor& input, const Scalar& threshold, const Scalar& value) {
  DT_CHECK(!is_bool(input.dtype()), kNotImplemented,
           "\"threshold_cpu\" not implemented for 'Bool'");
  if (is_floating(input.dtype())) return;
  check_fits(threshold, input.dtype());
  check_fits(value, input.dtype());
}

void check_prelu(const Tensor& input, const Tensor& weight) {
  DT_CHECK(input.dtype() == weight.dtype(), kRuntimeError,
           "prelu: Type promoting not supported. Got ", type_word(input.dtype()), " and ",
           type_word(weight.dtype()));
  DT_CHECK(weight.ndim() <= 1, kRuntimeError,
           "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.ndim());
  if (weight.numel() == 1) return;
  DT_CHECK(input.ndim() > 0, kRuntimeError, "Not allow zero-dim input tensor.");
  const int64_t channels = input.ndim() > 1 ? input.sizes()[1] : 1;
  DT_CHECK(weight.numel() == channels, kRuntimeError,
           "Mismatch of parameter numbers and input channel size. Found parameter numbers = ",
           weight.numel(), " and channel size = ", channels, ".");
}

}  // namespace

Tensor hardtanh(const Tensor& input, double min_val, double max_val) {
  check_hardtanh(input, min_val, max_val);
  if (is_floating(input.dtype())) return hardtanh_element(input, min_val, max_val);
  return clamp_range(input, static_cast<int64_t>(min_val), static_cast<int64_t>(max_val));
}

const Tensor& hardtanh_(const Tensor& input, double min_val, double max_val) {
  check_hardtanh(input, min_val, max_val);
  if (is_floating(input.dtype())) return hardtanh_element_(input, min_val, max_val);
  return clamp_range_(input, static_cast<int64_t>(min_val), static_cast<int64_t>(max_val));
}

Tensor relu6(const Tensor& input) {
  return hardtanh(input, 0, 6);
}

const Tensor& relu6_(const Tensor& input) {
  return hardtanh_(input, 0, 6);
}

Tensor softshrink(const Tensor& input, double lambd) {
  check_floating(input, "softshrink_check");
  const double most = visit(input.dtype(), [](auto type) {
    return static_cast<double>(std::numeric_limits<typename decltype(type)::type>::max());
  });
  DT_CHECK(lambd >= 0 && lambd <= most, kRuntimeError, "lambda must be in range [0, ", most,
           "] for input dtype ", type_word(input.dtype()), ", but found ", lambd);
  return softshrink_element(input, lambd);
}

Tensor tanhshrink(const Tensor& input) {
  return sub(input, tanh(input));
}

Tensor threshold(const Tensor& input, const Scalar& threshold, const Scalar& value) {
  check_threshold(input, threshold, value);
  if (is_floating(input.dtype())) return threshold_element(input, threshold, value);
  return fill_where(input, le(input, threshold.to_int64()), value.to_int64());
}

const Tensor& threshold_(const Tensor& input, const Scalar& threshold, const Scalar& value) {
  check_threshold(input, threshold, value);
  if (is_floating(input.dtype())) return threshold_element_(input, threshold, value);
  return fill_where_(input, le(input, threshold.to_int64()), value.to_int64());
}

Tensor softsign(const Tensor& input) {
  return true_divide(input, add(abs(input), 1));
}

Tensor selu(const Tensor& input) {
  return elu_scaled(input, kSeluAlpha, kSeluScale, 1.0);
}

const Tensor& selu_(const Tensor& input) {
  return elu_scaled_(input, kSeluAlpha, kSeluScale, 1.0);
}

Tensor celu(const Tensor& input, double alpha) {
  check_celu(alpha);
  return elu_scaled(input, alpha, 1.0, 1 / alpha);
}

const Tensor& celu_(const Tensor& input, double alpha) {
  check_celu(alpha);
  return elu_scaled_(input, alpha, 1.0, 1 / alpha);
}

Tensor glu(const Tensor& input, int64_t dim) {
  DT_CHECK(input.ndim() > 0, kRuntimeError,
           "glu does not support scalars because halving size must be even");
  const int d = wrap_dim(dim, input.ndim());
  const int64_t size = input.sizes()[d];
  DT_CHECK(size % 2 == 0, kRuntimeError, "Halving dimension must be even, but dimension ", d,
           " is size ", size);
  return gated(narrow(input, d, 0, size / 2), narrow(input, d, size / 2, size / 2));
}

Tensor prelu(const Tensor& input, const Tensor& weight) {
  check_prelu(input, weight);
  Dims sizes;
  if (weight.numel() != 1) {
    for (int d = 0; d < input.ndim(); ++d) sizes.push_back(d == 1 ? weight.numel() : 1);
  }
  return prelu_element(input, reshape(weight, sizes));
}

Tensor softmin(const Tensor& input, int64_t dim, DType dtype) {
  return softmax(neg(input), dim, dtype);
}

}  // namespace dt
