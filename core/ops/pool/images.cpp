// Pooling. Both kinds are linear in the input once the places of the maxima are known, so the
// gradients are ops with gradients of their own.
#include "core/ops/indexing.gen.h"
#include "core/ops/pool.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/conv/window.h"
#include "core/ops/pool/checks.h"

#include "core/autograd/record.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/pool.gen.h"

namespace dt {
namespace {

struct Pooling {
  Window window;
  bool ceil_mode = false;
  bool count_include_pad = true;  // of avg_pool2d, as the next
  int64_t divisor = 0;            // 0: the size of the window

  Dims output_sizes(const Dims& x) const {
    return {x[0], x[1], window.output_size(0, x[2], ceil_mode),
            window.output_size(1, x[3], ceil_mode)};
  }
};

Pooling make_pooling(IntList kernel_size, std::optional<IntList> stride, IntList padding,
                     bool ceil_mode) {
  const IntPair size = int_pair("kernel_size", kernel_size);
  Pooling p{Window(size[0], size[1]), ceil_mode};
  // PyTorch takes an empty list for an absent one.
  p.window.stride = stride && !stride->empty() ? int_pair("stride", *stride) : size;
  p.window.padding = int_pair("padding", padding);
  return p;
}

// The result for an image that came without a batch.
Tensor without_batch(const Tensor& y) {
  return unsafe_view(y, {y.size(1), y.size(2), y.size(3)});
}

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

std::tuple<Tensor, Tensor> max_pool(const Tensor& x, const Pooling& p) {
  check_pool_window(p.window);
  const Dims sizes = p.output_sizes(x.sizes());
  check_max_pool(x, sizes);
  const Tensor y = empty_image(sizes, x, is_channels_last(x));
  const Tensor indices = make_empty_strided(sizes, y.strides(), kIndexDType, x.device());
  MaxPool2dCall call;
  call.y = y;
  call.indices = indices;
  call.x = x;
  set_window(call, p.window);
  run(op::max_pool2d, call);
  record("MaxPool2DWithIndicesBackward0", y, {x},
         [saved = Saved::input(indices), sizes = x.sizes(), window = p.window](BackwardCall& b) {
           b.results[0] =
               b.flat_in_inputs(max_pool_gradient(b.grad(), saved.get(b.node), sizes, window));
         });
  return {y, indices};
}

// ---- avg_pool2d

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

Tensor avg_pool(const Tensor& x, const Pooling& p) {
  const Tensor y = empty_image(p.output_sizes(x.sizes()), x, is_channels_last(x));
  AvgPool2dCall call;
  call.y = y;
  call.x = x;
  set_window(call, p);
  run(op::avg_pool2d, call);
  return record("AvgPool2DBackward0", y, {x}, [sizes = x.sizes(), p](BackwardCall& b) {
    b.results[0] = b.flat_in_inputs(avg_pool_gradient(b.grad(), sizes, p));
  });
}

Tensor avg_pool_gradient(const Tensor& g, const Dims& input_sizes, const Pooling& p) {
  const Tensor gx = empty_image(input_sizes, g, is_channels_last(g));
  AvgPool2dBackwardCall call;
  call.gx = gx;
  call.g = g;
  set_window(call, p);
  run(op::avg_pool2d_backward, call);
  return record("AvgPool2DBackwardBackward0", gx, {g},
                [p](BackwardCall& b) { b.results[0] = avg_pool(b.grad(), p); });
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, IntList kernel_size,
                                                   std::optional<IntList> stride, IntList padding,
                                                   IntList dilation, bool ceil_mode) {
  check_pool_rank(input);
  Pooling p = make_pooling(kernel_size, stride, padding, ceil_mode);
  p.window.dilation = int_pair("dilation", dilation);
  if (input.ndim() == 4) return max_pool(input, p);
  const auto [y, indices] = max_pool(unsqueeze(input, 0), p);
  return {without_batch(y), without_batch(indices)};
}

Tensor max_pool2d(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                  IntList padding, IntList dilation, bool ceil_mode) {
  return std::get<0>(
      max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor avg_pool2d(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                  IntList padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  check_pool_rank(input);
  Pooling p = make_pooling(kernel_size, stride, padding, ceil_mode);
  check_pool_divisor(divisor_override);
  p.count_include_pad = count_include_pad;
  p.divisor = divisor_override.value_or(0);
  const Tensor x = input.ndim() == 4 ? input : unsqueeze(input, 0);
  check_pool_window(p.window);
  check_avg_pool(x, p.output_sizes(x.sizes()));
  const Tensor y = avg_pool(x, p);
  return input.ndim() == 4 ? y : without_batch(y);
}

}  // namespace dt
