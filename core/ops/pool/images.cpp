// Pooling of images. Both kinds are linear in the input once the places of the maxima are known, so
// the gradients are ops with gradients of their own.
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/pool/images.h"

#include "core/autograd/record.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/pool.gen.h"

namespace dt {
namespace {

// ---- max_pool2d

Tensor planes(const Tensor& x) {
  return reshape(x, {x.size(0), x.size(1), x.size(2) * x.size(3)});
}

// Of a call of either kernel.
template <class Call>
void set_window(Call& call, const Window& w) {
  call.kernel_size = w.size;
  call.stride = w.stride;
  call.padding = w.padding;
  call.dilation = w.dilation;
}

// An image's elements where the maxima were: 0 for windows that had none (see max_pool2d).
Tensor at_maxima(const Tensor& image, const Tensor& indices) {
  const Tensor taken = gather(planes(image), 2, planes(clamp_min(indices, 0)));
  return masked_fill(reshape(taken, indices.sizes()), lt(indices, 0), 0);
}

// Puts g's elements where the maxima were; the derivative of that is to take them from there.
Tensor max_pool_gradient(const Tensor& g, const Tensor& indices, const Dims& input_sizes,
                         const Window& window) {
  const Tensor gx = empty_image(input_sizes, g, is_channels_last(indices));
  MaxPool2dBackwardCall call;
  call.gx = gx;
  call.g = g;
  call.indices = indices;
  set_window(call, window);
  run(op::max_pool2d_backward, call);
  return record("MaxPool2DWithIndicesBackwardBackward0", gx, {g},
                [indices](BackwardCall& b) { b.results[0] = at_maxima(b.grad(), indices); });
}

}  // namespace

Tensor batch_of_image(const Tensor& image) {
  const Tensor x = unsqueeze(image, 0);
  if (!is_channels_last(x)) return x;
  const int64_t channels = image.size(0);
  return reshape(reshape(image, {channels}), {1, channels, 1, 1});
}

std::tuple<Tensor, Tensor> max_pool_images(const Tensor& x, const Pooling& p) {
  const Dims sizes = p.output_sizes(x.sizes());
  const Tensor y = empty_image(sizes, x, is_channels_last(x));
  const Tensor indices = make_empty_strided(sizes, y.strides(), kIndexDType, x.device());
  MaxPool2dCall call;
  call.y = y;
  call.indices = indices;
  call.x = x;
  set_window(call, p.window);
  run(op::max_pool2d, call);
  if (!needs_graph(x)) return {y, indices};
  record("MaxPool2DWithIndicesBackward0", y, {x},
         [saved = Saved::input(indices), sizes = x.sizes(), p](BackwardCall& b) {
           const Tensor gx = max_pool_gradient(b.grad(), saved.get(b.node), sizes, p.window);
           b.results[0] = p.links_gradient ? b.flat_in_inputs(gx) : gx;
         });
  return {y, indices};
}

// ---- avg_pool2d

namespace {

// Of a call of either kernel.
template <class Call>
void set_window(Call& call, const Pooling& p) {
  call.kernel_size = p.window.size;
  call.stride = p.window.stride;
  call.padding = p.window.padding;
  call.count_include_pad = p.count_include_pad;
  call.divisor_override = p.divisor;
}

Tensor avg_pool_gradient(const Tensor& g, const Dims& input_sizes, const Pooling& p);

}  // namespace

Tensor avg_pool_images(const Tensor& x, const Pooling& p) {
  const Tensor y = empty_image(p.output_sizes(x.sizes()), x, is_channels_last(x));
  AvgPool2dCall call;
  call.y = y;
  call.x = x;
  set_window(call, p);
  run(op::avg_pool2d, call);
  const char* node = p.covers(1) ? "AdaptiveAvgPool2DBackward0" : "AvgPool2DBackward0";
  return record(node, y, {x}, [sizes = x.sizes(), p](BackwardCall& b) {
    const Tensor gx = avg_pool_gradient(b.grad(), sizes, p);
    b.results[0] = p.links_gradient ? b.flat_in_inputs(gx) : gx;
  });
}

namespace {

Tensor avg_pool_gradient(const Tensor& g, const Dims& input_sizes, const Pooling& p) {
  const Tensor gx = empty_image(input_sizes, g, is_channels_last(g));
  AvgPool2dBackwardCall call;
  call.gx = gx;
  call.g = g;
  set_window(call, p);
  run(op::avg_pool2d_backward, call);
  const char* node =
      p.covers(1) ? "AdaptiveAvgPool2DBackwardBackward0" : "AvgPool2DBackwardBackward0";
  return record(node, gx, {g},
                [p](BackwardCall& b) { b.results[0] = avg_pool_images(b.grad(), p); });
}

}  // namespace

}  // namespace dt
