#include "core/ops/vision/remap.h"

#include "core/autograd/record.h"
#include "core/ops/conv/window.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/vision.gen.h"

namespace dt {
namespace {

// Of a call of either kernel.
template <class Call>
void set_places(Call& call, const Remapping& r) {
  call.mode = static_cast<int64_t>(r.mode);
  call.before = r.before;
  call.step = r.step;
  call.offset = r.offset;
}

// It is linear: the derivative is the op itself.
Tensor remap_gradient(const Tensor& g, const Remapping& r) {
  const Tensor gx = empty_image(r.from, g, is_channels_last(g));
  RemapBackwardCall call;
  call.gx = gx;
  call.g = g;
  set_places(call, r);
  run(op::remap_backward, call);
  return record("RemapBackwardBackward0", gx, {g},
                [r](BackwardCall& b) { b.results[0] = remap(b.grad(), r); });
}

}  // namespace

Tensor remap(const Tensor& x, const Remapping& r) {
  const Tensor y = empty_image(r.to, x, r.channels_last);
  RemapCall call;
  call.y = y;
  call.x = x;
  set_places(call, r);
  run(op::remap, call);
  return record(r.node, y, {x}, [r](BackwardCall& b) {
    const Tensor gx = remap_gradient(b.grad(), r);
    b.results[0] = r.links_gradient ? gx : b.flat_in_inputs(gx);
  });
}

}  // namespace dt
