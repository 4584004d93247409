// Dropout of whole channels, and alpha dropout: products with noise that is drawn by dropout.
#include <cmath>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// The limit of selu at minus infinity, negated.
constexpr double kAlpha = 1.7580993408473766;

// Whether there is no noise to draw: all elements are kept, or all are dropped.
bool is_certain(const Tensor& x, double p, bool training) {
  check_dropout_probability(p);
  return !training || p == 0 || p == 1 || x.numel() == 0;
}

bool keeps_all(const Tensor& x, double p, bool training) {
  return !training || p == 0 || x.numel() == 0;
}

Tensor certain(const Tensor& x, double p, bool training) {
  return keeps_all(x, p, training) ? x : mul(x, Scalar(false));
}
const Tensor& certain_(const Tensor& x, double p, bool training) {
  return keeps_all(x, p, training) ? x : mul_(x, Scalar(false));
}

// PyTorch gives an input without a batch one, and takes that away again: what comes out is a view.
Tensor certain_channels(const Tensor& x, int with_batch, double p, bool training) {
  const Tensor y = certain(x, p, training);
  return x.ndim() == with_batch ? y : view(y, y.sizes());
}

// 0 with the probability p, else 1 / (1 - p): of the input's first `kept` sizes, and of size 1.
Tensor noise_of(const Tensor& x, int kept, double p) {
  check_output_dtype(x.dtype());
  Dims sizes = x.sizes();
  for (int d = kept; d < x.ndim(); ++d) sizes[d] = 1;
  return dropout(full(sizes, 1, x.dtype(), x.device()), p, true);
}

// The factor and the summand of alpha dropout.
struct AlphaNoise {
  Tensor factor, summand;
};

AlphaNoise alpha_noise(const Tensor& x, int kept, double p) {
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const Tensor factor = noise_of(x, kept, p) * (a * (1 - p));
  return {factor, factor * kAlpha + kAlpha * a * (p - 1)};
}

// Of an input without a batch, dimension 0 has the channels.
int dimensions_to_channels(const Tensor& x, int with_batch) {
  return x.ndim() == with_batch ? 2 : 1;
}

Tensor drop(const Tensor& x, int kept, double p) {
  return x * noise_of(x, kept, p);
}
const Tensor& drop_(const Tensor& x, int kept, double p) {
  return mul_(x, noise_of(x, kept, p));
}

Tensor alpha_drop(const Tensor& x, int kept, double p) {
  const AlphaNoise noise = alpha_noise(x, kept, p);
  return x * noise.factor + noise.summand;
}
const Tensor& alpha_drop_(const Tensor& x, int kept, double p) {
  const AlphaNoise noise = alpha_noise(x, kept, p);
  return add_(mul_(x, noise.factor), noise.summand);
}

}  // namespace

Tensor dropout1d(const Tensor& input, double p, bool training) {
  check_dropout1d(input);
  if (is_certain(input, p, training)) return certain_channels(input, 3, p, training);
  return drop(input, dimensions_to_channels(input, 3), p);
}
const Tensor& dropout1d_(const Tensor& input, double p, bool training) {
  check_dropout1d(input);
  if (is_certain(input, p, training)) return certain_(input, p, training);
  return drop_(input, dimensions_to_channels(input, 3), p);
}

Tensor dropout2d(const Tensor& input, double p, bool training) {
  if (is_certain(input, p, training)) return certain(input, p, training);
  check_feature_dropout(input.ndim());
  return drop(input, 2, p);
}
const Tensor& dropout2d_(const Tensor& input, double p, bool training) {
  if (is_certain(input, p, training)) return certain_(input, p, training);
  check_feature_dropout(input.ndim());
  return drop_(input, 2, p);
}

Tensor dropout3d(const Tensor& input, double p, bool training) {
  if (is_certain(input, p, training)) return certain_channels(input, 5, p, training);
  check_feature_dropout(input.ndim() + 1);
  return drop(input, dimensions_to_channels(input, 5), p);
}
const Tensor& dropout3d_(const Tensor& input, double p, bool training) {
  if (is_certain(input, p, training)) return certain_(input, p, training);
  check_feature_dropout(input.ndim() + 1);
  return drop_(input, dimensions_to_channels(input, 5), p);
}

Tensor alpha_dropout(const Tensor& input, double p, bool training) {
  if (is_certain(input, p, training)) return certain(input, p, training);
  return alpha_drop(input, input.ndim(), p);
}
const Tensor& alpha_dropout_(const Tensor& input, double p, bool training) {
  if (is_certain(input, p, training)) return certain_(input, p, training);
  return alpha_drop_(input, input.ndim(), p);
}

Tensor feature_alpha_dropout(const Tensor& input, double p, bool training) {
  if (is_certain(input, p, training)) return certain(input, p, training);
  check_feature_dropout(input.ndim());
  return alpha_drop(input, 2, p);
}
const Tensor& feature_alpha_dropout_(const Tensor& input, double p, bool training) {
  if (is_certain(input, p, training)) return certain_(input, p, training);
  check_feature_dropout(input.ndim());
  return alpha_drop_(input, 2, p);
}

}  // namespace dt
