// Channels and places that change with each other: pixel_shuffle, pixel_unshuffle, channel_shuffle.
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// x with the dimensions from `first` on cut into `parts`, permuted, and joined to `result`.
Tensor rearrange(const Tensor& x, int first, const Dims& parts, const Dims& order,
                 const Dims& result) {
  Dims cut, dims, joined;
  for (int d = 0; d < first; ++d) {
    cut.push_back(x.sizes()[d]);
    dims.push_back(d);
    joined.push_back(x.sizes()[d]);
  }
  for (int64_t n : parts) cut.push_back(n);
  for (int64_t d : order) dims.push_back(first + d);
  for (int64_t n : result) joined.push_back(n);
  const Tensor moved = permute(reshape(x, cut), dims);
  const Tensor y = unsafe_view(clone(moved, MemoryFormat::kContiguous), joined);
  return is_channels_last(x) ? contiguous(y, MemoryFormat::kChannelsLast) : y;
}

}  // namespace

Tensor pixel_shuffle(const Tensor& input, int64_t upscale_factor) {
  check_pixel_shuffle(input, upscale_factor);
  const int64_t r = upscale_factor, c = input.size(-3) / (r * r), h = input.size(-2),
                w = input.size(-1);
  return rearrange(input, input.ndim() - 3, {c, r, r, h, w}, {0, 3, 1, 4, 2}, {c, h * r, w * r});
}

Tensor pixel_unshuffle(const Tensor& input, int64_t downscale_factor) {
  check_pixel_unshuffle(input, downscale_factor);
  const int64_t r = downscale_factor, c = input.size(-3), h = input.size(-2) / r,
                w = input.size(-1) / r;
  return rearrange(input, input.ndim() - 3, {c, h, r, w, r}, {0, 2, 4, 1, 3}, {c * r * r, h, w});
}

Tensor channel_shuffle(const Tensor& input, int64_t groups) {
  check_channel_shuffle(input, groups);
  const int64_t per_group = input.size(1) / groups;
  Dims parts{groups, per_group}, order{1, 0}, result{input.size(1)};
  for (int d = 2; d < input.ndim(); ++d) {
    parts.push_back(input.sizes()[d]);
    order.push_back(d);
    result.push_back(input.sizes()[d]);
  }
  return rearrange(input, 1, parts, order, result);
}

}  // namespace dt
