// Initial values of weights. Nothing is recorded: what is written may be a parameter.
#include "core/ops/init.gen.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"
#include "core/runtime/transfer.h"

namespace dt {
namespace {

struct Fans {
  int64_t in, out;
};

Fans fans_of(const Tensor& weight) {
  DT_CHECK(weight.ndim() >= 2, kValueError,
           "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  int64_t field = 1;
  for (int dim = 2; dim < weight.ndim(); ++dim) field *= weight.size(dim);
  return {weight.size(1) * field, weight.size(0) * field};
}

void check_matrix(const Tensor& x) {
  DT_CHECK(x.ndim() == 2, kValueError, "Only tensors with 2 dimensions are supported");
}

double xavier_std(const Tensor& weight, double gain) {
  const Fans fans = fans_of(weight);
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

double kaiming_std(const Tensor& weight, double slope, const std::string& mode,
                   const std::string& nonlinearity) {
  DT_CHECK(mode == "fan_in" || mode == "fan_out", kValueError, "Mode ", mode,
           " not supported, please use one of ['fan_in', 'fan_out']");
  const Fans fans = fans_of(weight);
  const int64_t fan = mode == "fan_in" ? fans.in : fans.out;
  return calculate_gain(nonlinearity, slope) / std::sqrt(static_cast<double>(fan));
}

// Uniform numbers of this standard deviation lie so far from 0.
double bound_of(double std) {
  return std::sqrt(3.0) * std;
}

struct Truncated {
  double mean, std, a, b;
  const Ref<Generator>& generator;

  // The part of the normal numbers that lies between the bounds, doubled.
  double share_inside() const {
    const auto at = [this](double bound) {
      return std::erf((bound - mean) / (std * std::sqrt(2.0)));
    };
    return at(b) - at(a);
  }
  // Draws numbers; gives which of them are rejected.
  Tensor draw(const Tensor& x) const { return share_inside() > 0.6 ? normal(x) : uniform(x); }

 private:
  Tensor normal(const Tensor& x) const {
    normal_(x, mean, std, generator);
    return logical_or(lt(x, a), gt(x, b));
  }
  // For bounds that few normal numbers lie between. They are rejected as often as the density is
  // below its peak.
  Tensor uniform(const Tensor& x) const {
    uniform_(x, a, b, generator);
    const double at_peak = (std::max(a, std::min(mean, b)) - mean) / std;
    const Tensor exponent = mul(pow(div(sub(x, mean), std), 2), -0.5);
    const Tensor density = exp(sub(exponent, -0.5 * at_peak * at_peak));
    return gt(uniform_(empty_like(x), 0, 1, generator), density);
  }
};

}  // namespace

double calculate_gain(const std::string& nonlinearity, std::optional<double> param) {
  if (nonlinearity == "leaky_relu") {
    const double slope = param.value_or(0.01);
    return std::sqrt(2.0 / (1 + slope * slope));
  }
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "selu") return 0.75;
  for (const char* name : {"linear", "sigmoid", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                           "conv_transpose2d", "conv_transpose3d"}) {
    if (nonlinearity == name) return 1;
  }
  fail(Code::kValueError, "Unsupported nonlinearity ", nonlinearity);
}

std::tuple<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& weight) {
  const Fans fans = fans_of(weight);
  return {fans.in, fans.out};
}

const Tensor& eye_(const Tensor& x) {
  check_matrix(x);
  const GradMode off(false);
  return copy_(x, eye(x.size(0), x.size(1), x.dtype(), x.device()));
}

const Tensor& dirac_(const Tensor& weight, int64_t groups) {
  DT_CHECK(weight.ndim() >= 3 && weight.ndim() <= 5, kValueError,
           "Only tensors with 3, 4, or 5 dimensions are supported");
  DT_CHECK(groups > 0, kValueError, "groups must be positive, got ", groups);
  DT_CHECK(weight.size(0) % groups == 0, kValueError, "dim 0 must be divisible by groups");
  const GradMode off(false);
  zero_(weight);
  const int64_t outputs = weight.size(0) / groups;
  for (int64_t i = 0; i < weight.size(0); ++i) {
    if (i % outputs >= weight.size(1)) continue;
    Tensor center = select(select(weight, 0, i), 0, i % outputs);
    while (center.ndim() > 0) center = select(center, 0, center.size(0) / 2);
    fill_(center, 1);
  }
  return weight;
}

const Tensor& xavier_uniform_(const Tensor& weight, double gain, const Ref<Generator>& generator) {
  const GradMode off(false);
  const double bound = bound_of(xavier_std(weight, gain));
  return uniform_(weight, -bound, bound, generator);
}

const Tensor& xavier_normal_(const Tensor& weight, double gain, const Ref<Generator>& generator) {
  const GradMode off(false);
  return normal_(weight, 0, xavier_std(weight, gain), generator);
}

const Tensor& kaiming_uniform_(const Tensor& weight, double a, const std::string& mode,
                               const std::string& nonlinearity, const Ref<Generator>& generator) {
  if (weight.numel() == 0) return weight;
  const GradMode off(false);
  const double bound = bound_of(kaiming_std(weight, a, mode, nonlinearity));
  return uniform_(weight, -bound, bound, generator);
}

const Tensor& kaiming_normal_(const Tensor& weight, double a, const std::string& mode,
                              const std::string& nonlinearity, const Ref<Generator>& generator) {
  if (weight.numel() == 0) return weight;
  const GradMode off(false);
  return normal_(weight, 0, kaiming_std(weight, a, mode, nonlinearity), generator);
}

const Tensor& trunc_normal_(const Tensor& x, double mean, double std, double a, double b,
                            const Ref<Generator>& generator) {
  DT_CHECK(std > 0, kRuntimeError, "trunc_normal_ expects std > 0.0, but found std ", std);
  const GradMode off(false);
  const Truncated numbers{mean, std, a, b, generator};
  Tensor rejected = numbers.draw(x);
  while (item(any(rejected)).to_bool()) {
    const Tensor fresh = empty_like(x);
    const Tensor again = numbers.draw(fresh);
    copy_(x, where(rejected, fresh, x));
    rejected = logical_and(rejected, again);
  }
  return x;
}

const Tensor& orthogonal_(const Tensor& x, double gain, const Ref<Generator>& generator) {
  DT_CHECK(x.ndim() >= 2, kValueError, "Only tensors with 2 or more dimensions are supported");
  if (x.numel() == 0) return x;
  const GradMode off(false);
  const int64_t rows = x.size(0), columns = x.numel() / rows;
  const Tensor tall =
      empty({std::max(rows, columns), std::min(rows, columns)}, kDTypeOf<double>, x.device());
  normal_(tall, 0, 1, generator);
  const auto [q, r] = linalg_qr(tall, "reduced");
  // With R's diagonal positive, QR is unique, and Q of a normal matrix uniform (Mezzadri, 2007).
  mul_(q, mul(sign(diagonal(r)), gain));
  return copy_(x, reshape(rows < columns ? t(q) : q, x.sizes()));
}

const Tensor& sparse_(const Tensor& x, double sparsity, double std,
                      const Ref<Generator>& generator) {
  check_matrix(x);
  const GradMode off(false);
  const int64_t rows = x.size(0);
  const int64_t zeros = std::ceil(sparsity * static_cast<double>(rows));
  normal_(x, 0, std, generator);
  for (int64_t column = 0; column < x.size(1); ++column) {
    const Tensor order = randperm(rows, generator, kIndexDType, x.device());
    index_fill_(select(x, 1, column), 0, slice(order, 0, {}, zeros), 0);
  }
  return x;
}

}  // namespace dt
