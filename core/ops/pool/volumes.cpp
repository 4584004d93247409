#include "core/ops/pool/volumes.h"

#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// [N, C, D, H * W] of frames [N, C * D, H, W]: an image whose height is the depth.
Tensor as_columns(const Tensor& frames, const Dims& volume) {
  const Dims& n = frames.sizes();
  return reshape(frames, {volume[0], volume[1], volume[2], n[2] * n[3]});
}

Tensor as_frames(const Tensor& volume) {
  const Dims& n = volume.sizes();
  return reshape(volume, {n[0], n[1] * n[2], n[3], n[4]});
}

// The sizes after both steps.
Dims volume_sizes(const Tensor& columns, const Tensor& frames) {
  const Dims& n = columns.sizes();
  return {n[0], n[1], n[2], frames.size(2), frames.size(3)};
}

// How many elements each window along one dimension covers.
Tensor covered(const Pooling& p, int d, int64_t size, int64_t windows, const Tensor& like) {
  const Window& w = p.window;
  const Tensor first =
      sub(mul(arange(0, static_cast<double>(windows), 1, like.dtype(), like.device()), w.stride[d]),
          w.padding[d]);
  const Tensor last = clamp_max(add(first, w.size[d]), size + w.padding[d]);
  if (p.count_include_pad) return sub(last, first);
  return sub(clamp_max(last, size), clamp_min(first, 0));
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool_volumes(const Tensor& x, const Pooling& frames,
                                            const Pooling& depth) {
  const auto [in_frame, place_in_frame] = max_pool_images(as_frames(x), frames);
  const Dims& n = x.sizes();
  const auto [values, places] = max_pool_images(as_columns(in_frame, n), depth);
  // A place along the depth is frame * columns + column of what the first step gave.
  const int64_t columns = in_frame.size(2) * in_frame.size(3);
  const Dims flat{n[0], n[1], places.size(2) * places.size(3)};
  const Tensor chosen = reshape(clamp_min(places, 0), flat);
  const Tensor inner = gather(reshape(place_in_frame, {n[0], n[1], n[2] * columns}), 2, chosen);
  const Tensor place = add(mul(floor_divide(chosen, columns), n[3] * n[4]), inner);
  const Tensor none = logical_or(lt(reshape(places, flat), 0), lt(inner, 0));
  const Dims sizes = volume_sizes(values, in_frame);
  return {unsafe_view(values, sizes), unsafe_view(masked_fill(place, none, -1), sizes)};
}

// Sums of sums, divided once.
Tensor avg_pool_volumes(const Tensor& x, const Pooling& frames, const Pooling& depth) {
  Pooling sum_of_frame = frames, sum_of_depth = depth;
  sum_of_frame.divisor = sum_of_depth.divisor = 1;
  // Sums of narrow floats are not rounded between the steps.
  const Tensor wide = to_dtype(x, info(x.dtype()).compute);
  const Tensor in_frame = avg_pool_images(as_frames(wide), sum_of_frame);
  const Tensor sums = avg_pool_images(as_columns(in_frame, x.sizes()), sum_of_depth);
  const Tensor y = unsafe_view(sums, volume_sizes(sums, in_frame));
  if (frames.divisor != 0) return to_dtype(true_divide(y, frames.divisor), x.dtype());
  Pooling along = depth;
  along.count_include_pad = frames.count_include_pad;
  const Dims& n = y.sizes();
  const Tensor height = covered(frames, 0, x.size(3), n[3], y),
               width = covered(frames, 1, x.size(4), n[4], y);
  const Tensor divisor = mul(reshape(covered(along, 0, x.size(2), n[2], y), {n[2], 1, 1}),
                             mul(reshape(height, {n[3], 1}), width));
  return to_dtype(true_divide(y, divisor), x.dtype());
}

}  // namespace dt
