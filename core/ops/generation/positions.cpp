// Places in a sequence as angles. Angles are computed in double precision: in float32 one of
// position 100,000 would have lost what tells neighbours apart.
#include <cmath>

#include "core/base/error.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/generation.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// position / base^(2i / features) for each position and i < features / 2: [..., features / 2].
Tensor angles_of(const Tensor& positions, int64_t features, double base) {
  DT_CHECK(base > 0, kValueError, "base must be positive, got ", base);
  const Tensor even = arange(0, features, 2, kDTypeOf<double>, positions.device());
  const Tensor speeds = exp(even * (-std::log(base) / static_cast<double>(features)));
  return unsqueeze(to_dtype(positions, kDTypeOf<double>), -1) * speeds;
}

bool broadcasts_to(const Tensor& positions, const Tensor& input) {
  if (positions.ndim() >= input.ndim()) return false;
  for (int d = 1; d <= positions.ndim(); ++d) {
    if (positions.size(-d) != 1 && positions.size(-d) != input.size(-d - 1)) return false;
  }
  return true;
}

}  // namespace

Tensor rotary_embedding(const Tensor& input, const Tensor& positions, double base,
                        bool interleaved) {
  DT_CHECK(input.ndim() >= 2 && input.size(-1) % 2 == 0, kRuntimeError,
           "expected input of [..., time, features] with an even number of features, got size ",
           input.sizes());
  DT_CHECK(is_floating(input.dtype()), kRuntimeError, "expected a floating point input, got ",
           input.dtype());
  const Tensor places =
      positions.defined() ? positions : arange(0, input.size(-2), 1, kIndexDType, input.device());
  DT_CHECK(broadcasts_to(places, input), kRuntimeError, "positions of size ", places.sizes(),
           " do not broadcast to input of size ", input.sizes(), " without its features");
  const int64_t pairs = input.size(-1) / 2;
  const DType wide = info(input.dtype()).compute;
  const Tensor angles = angles_of(places, 2 * pairs, base);
  const Tensor c = to_dtype(cos(angles), wide), s = to_dtype(sin(angles), wide);
  const Dims split = interleaved ? Dims{pairs, 2} : Dims{2, pairs};
  const int64_t of_pair = interleaved ? -1 : -2;
  const Tensor x = unflatten(to_dtype(input, wide), -1, split);
  const Tensor a = select(x, of_pair, 0), b = select(x, of_pair, 1);
  const std::initializer_list<Tensor> turned = {a * c - b * s, b * c + a * s};
  return to_dtype(unsafe_view(stack(turned, of_pair), input.sizes()), input.dtype());
}

Tensor sinusoidal_embedding(const Tensor& positions, int64_t embedding_dim, double base) {
  DT_CHECK(embedding_dim > 0 && embedding_dim % 2 == 0, kValueError,
           "embedding_dim must be positive and even, got ", embedding_dim);
  const Tensor angles = angles_of(positions, embedding_dim, base);
  const std::initializer_list<Tensor> waves = {sin(angles), cos(angles)};
  Dims sizes = angles.sizes();
  sizes[angles.ndim() - 1] = embedding_dim;
  return to_dtype(unsafe_view(stack(waves, -1), sizes), context().default_dtype);
}

}  // namespace dt
