#include "core/ops/conv/frames.h"

#include "core/autograd/record.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/windows.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// [N, D, C, H, W] of [N, C, D, H, W], or back.
Tensor swap_depth(const Tensor& x) {
  return transpose(x, 1, 2);
}

// [N, windows, C, taps, H, W]: what the taps of each window touch. Several may touch the same.
Tensor touched(const Tensor& padded, const Depth& depth, const Dims& sizes) {
  const Dims& s = padded.strides();
  return as_strided(padded, sizes,
                    Dims{s[0], s[2] * depth.stride, s[1], s[2] * depth.dilation, s[3], s[4]},
                    padded.offset());
}

// [N, windows, C, taps, H, W] of what join_frames gives.
Tensor by_tap(const Tensor& joined, const Depth& depth, int64_t batch, int64_t windows) {
  const Dims& n = joined.sizes();
  return reshape(joined, {batch, windows, n[1] / depth.taps, depth.taps, n[2], n[3]});
}

}  // namespace

Tensor frames_of(const Tensor& volume) {
  const Dims& n = volume.sizes();
  return reshape(swap_depth(volume), {n[0] * n[2], n[1], n[3], n[4]});
}

Tensor volume_of(const Tensor& frames, int64_t batch, int64_t depth) {
  const Dims& n = frames.sizes();
  return clone(swap_depth(reshape(frames, {batch, depth, n[1], n[2], n[3]})),
               MemoryFormat::kContiguous);
}

Tensor join_frames(const Tensor& volume, const Depth& depth) {
  const Dims& n = volume.sizes();
  const int64_t windows = depth.windows(n[2]);
  const Tensor y =
      make_empty({n[0] * windows, n[1] * depth.taps, n[3], n[4]}, volume.dtype(), volume.device());
  {
    const GradMode no_grad(false);
    const int64_t beside = depth.padding;
    const Tensor padded =
        beside == 0 ? volume : constant_pad_nd(volume, Dims{0, 0, 0, 0, beside, beside});
    const Tensor taps = by_tap(y, depth, n[0], windows);
    copy_(taps, touched(padded, depth, taps.sizes()));
  }
  return record("JoinFramesBackward0", y, {volume}, [depth, sizes = n](BackwardCall& b) {
    b.results[0] = spread_frames(b.grad(), depth, sizes);
  });
}

Tensor spread_frames(const Tensor& joined, const Depth& depth, const Dims& sizes) {
  Tensor y;
  {
    const GradMode no_grad(false);
    const int64_t windows = depth.windows(sizes[2]);
    const Tensor taps = by_tap(joined, depth, sizes[0], windows);
    const Dims& s = taps.strides();
    const Tensor parts =
        make_alias(taps, {sizes[0], sizes[1], depth.taps, 1, windows, sizes[3], sizes[4]},
                   {s[0], s[2], s[3], 0, s[1], s[4], s[5]}, taps.offset());
    y = sum_windows(parts, sizes, {{depth.stride, 1}, {depth.padding, 0}, {depth.dilation, 1}});
  }
  return record("SpreadFramesBackward0", y, {joined},
                [depth](BackwardCall& b) { b.results[0] = join_frames(b.grad(), depth); });
}

}  // namespace dt
