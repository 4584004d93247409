// The windows of images as columns, and columns added up to images. Each is the other's gradient.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/shapes/windows.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/shapes.gen.h"

namespace dt {
namespace {

Window window_of(IntList kernel_size, IntList dilation, IntList padding, IntList stride) {
  const IntPair size = int_pair("kernel_size", kernel_size);
  Window w(size[0], size[1]);
  w.dilation = int_pair("dilation", dilation);
  w.padding = int_pair("padding", padding);
  w.stride = int_pair("stride", stride);
  check_window(w);
  return w;
}

// 0 or below where not even one fits, as errors tell it.
IntPair count_windows(const Window& w, IntPair image) {
  IntPair n;
  for (int d = 0; d < 2; ++d) {
    const int64_t room = image[d] + 2 * w.padding[d] - w.extent(d), stride = w.stride[d];
    n[d] = (room < 0 ? room - stride + 1 : room) / stride + 1;
  }
  return n;
}

// All windows of images with their padding, [batch, channels, window's height and width, windows'
// rows and columns]: another look at their memory.
Tensor look_through(const Tensor& x, const Window& w, IntPair windows) {
  const Dims& s = x.strides();
  return make_alias(x, {x.sizes()[0], x.sizes()[1], w.size[0], w.size[1], windows[0], windows[1]},
                    {s[0], s[1], s[2] * w.dilation[0], s[3] * w.dilation[1], s[2] * w.stride[0],
                     s[3] * w.stride[1]},
                    x.offset());
}

Tensor add_windows(const Tensor& columns, IntPair image, const Window& w);

Tensor take_windows(const Tensor& x, const Window& w) {
  const IntPair image{x.sizes()[2], x.sizes()[3]}, windows = count_windows(w, image);
  const Tensor y =
      make_empty({x.sizes()[0], x.sizes()[1] * w.size[0] * w.size[1], windows[0] * windows[1]},
                 x.dtype(), x.device());
  {
    const GradMode no_grad(false);
    const bool padded = w.padding[0] != 0 || w.padding[1] != 0;
    const Tensor whole =
        padded ? pad(x, {w.padding[1], w.padding[1], w.padding[0], w.padding[0]}) : x;
    const Tensor seen = look_through(whole, w, windows);
    copy_elements(view(y, seen.sizes()), seen);
  }
  return record("Im2ColBackward0", y, {x},
                [w, image](BackwardCall& b) { b.results[0] = add_windows(b.grad(), image, w); });
}

Tensor add_windows(const Tensor& columns, IntPair image, const Window& w) {
  const IntPair windows = count_windows(w, image);
  const int64_t batch = columns.sizes()[0], channels = columns.sizes()[1] / (w.size[0] * w.size[1]);
  Tensor y;
  {
    const GradMode no_grad(false);
    const bool is_any = is_bool(columns.dtype());  // true where some window is
    const Tensor numbers = is_any ? to_dtype(columns, kDTypeOf<float>) : columns;
    const Tensor parts =
        reshape(numbers, {batch, channels, w.size[0], w.size[1], windows[0], windows[1], 1});
    const Tensor sums = sum_windows(parts, {batch, channels, image[0], image[1], 1},
                                    {w.stride, w.padding, w.dilation});
    y = to_dtype(squeeze_(sums, {{-1}}), columns.dtype());
  }
  return record("Col2ImBackward0", y, {columns},
                [w](BackwardCall& b) { b.results[0] = take_windows(b.grad(), w); });
}

}  // namespace

Tensor sum_windows(const Tensor& x, const Dims& sizes, const Slides& slides) {
  const Tensor y = make_empty(sizes, x.dtype(), x.device());
  AddWindowsCall call;
  call.y = y;
  call.x = x;
  call.stride = slides.stride;
  call.padding = slides.padding;
  call.dilation = slides.dilation;
  run(op::add_windows, call);
  return y;
}

Tensor im2col(const Tensor& input, IntList kernel_size, IntList dilation, IntList padding,
              IntList stride) {
  const Window w = window_of(kernel_size, dilation, padding, stride);
  check_im2col(input);
  check_im2col_count(input, w, count_windows(w, {input.size(-2), input.size(-1)}));
  return input.ndim() == 4 ? take_windows(input, w)
                           : squeeze_(take_windows(unsqueeze(input, 0), w), {{0}});
}

Tensor fold(const Tensor& input, IntList output_size, IntList kernel_size, IntList dilation,
            IntList padding, IntList stride) {
  const Window w = window_of(kernel_size, dilation, padding, stride);
  const IntPair image = int_pair("output_size", output_size);
  check_col2im(input, w, image, count_windows(w, image));
  return input.ndim() == 3 ? add_windows(input, image, w)
                           : squeeze_(add_windows(unsqueeze(input, 0), image, w), {{0}});
}

}  // namespace dt
