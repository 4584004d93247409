// The convolutions of lines, images and volumes, and their transposes. A line is an image of one
// row. A volume is convolved as frames, which have as channels those of all frames that a window
// touches (frames.h).
#include "core/ops/conv.gen.h"

#include "core/ops/conv/checks.h"
#include "core/ops/conv/frames.h"
#include "core/ops/conv/images.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

#include "core/autograd/record.h"

namespace dt {
namespace {

ConvSettings conv_settings(int dims, IntList stride, IntList padding, IntList dilation,
                           int64_t groups) {
  return {window_numbers("stride", stride, dims), window_numbers("padding", padding, dims),
          window_numbers("dilation", dilation, dims), groups};
}

ConvGeometry geometry_of_images(const Tensor& weight, const ConvSettings& c) {
  const Dims size(IntList(weight.sizes().data() + 2, c.dims()));
  return {Window(size, c.stride, c.padding, c.dilation), c.groups};
}

Depth depth_of(const Tensor& weight, const ConvSettings& c) {
  return {weight.size(2), c.stride[0], c.padding[0], c.dilation[0]};
}

// [O, C, R, S] of [O, C, S], and [O, C * taps, R, S] of [O, C, taps, R, S].
Tensor weight_of_images(const Tensor& weight, int dims) {
  if (dims == 1) return unsqueeze(weight, 2);
  return reshape(weight,
                 {weight.size(0), weight.size(1) * weight.size(2), weight.size(3), weight.size(4)});
}

Tensor convolve_batch(const Tensor& x, const Tensor& weight, const Tensor& bias,
                      const ConvSettings& c) {
  const ConvGeometry geometry = geometry_of_images(weight, c);
  if (c.dims() == 2) return convolve_images(x, weight, bias, geometry);
  const Tensor factors = weight_of_images(weight, c.dims());
  if (c.dims() == 1) {
    const Tensor y = convolve_images(unsqueeze(contiguous(x), 2), factors, bias, geometry);
    return unsafe_view(y, {y.size(0), y.size(1), y.size(3)});
  }
  const Depth depth = depth_of(weight, c);
  return volume_of(convolve_images(join_frames(x, depth), factors, bias, geometry), x.size(0),
                   depth.windows(x.size(2)));
}

// `op` is the name of the function that the user called.
Tensor convolve(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                int dims, const ConvSettings& c) {
  check_conv_ranks(op, dims, input, weight);
  const bool has_batch = input.ndim() == dims + 2;
  const Tensor x = has_batch ? input : unsqueeze(input, 0);
  check_conv(x, weight, bias, c);
  const Tensor y = convolve_batch(x, weight, bias, c);
  return has_batch ? y : squeeze(y, {{0}});
}

Dims transposed_sizes(const Tensor& x, const Tensor& weight, const ConvSettings& c,
                      const Dims& output_padding) {
  Dims sizes{x.size(0), weight.size(1) * c.groups};
  for (int d = 0; d < c.dims(); ++d)
    sizes.push_back(c.transposed_size(d, x.size(d + 2), weight.size(d + 2), output_padding[d]));
  return sizes;
}

Tensor transpose_batch(const Tensor& x, const Tensor& weight, const ConvSettings& c,
                       const Dims& sizes) {
  const ConvGeometry geometry = geometry_of_images(weight, c);
  if (c.dims() == 2) return spread_images(x, weight, sizes, geometry);
  const Tensor factors = weight_of_images(weight, c.dims());
  if (c.dims() == 1) {
    const Dims image{sizes[0], sizes[1], 1, sizes[2]};
    return unsafe_view(spread_images(unsqueeze(contiguous(x), 2), factors, image, geometry), sizes);
  }
  const Depth depth = depth_of(weight, c);
  const Tensor frames = frames_of(x);
  const Dims joined{frames.size(0), sizes[1] * depth.taps, sizes[3], sizes[4]};
  return spread_frames(spread_images(frames, factors, joined, geometry), depth, sizes);
}

// Of constants the bias's gradient is a constant, too.
Tensor add_bias(const Tensor& x, const Tensor& bias) {
  Tensor y;
  {
    const GradMode no_grad(false);
    Dims sizes(x.ndim() - 1, 1);
    sizes[0] = bias.size(0);
    y = add(x, reshape(bias, sizes));
  }
  return record("ConvolutionBackward0", y, {x, bias}, [](BackwardCall& b) {
    Dims dims{0};
    for (int d = 2; d < b.grad().ndim(); ++d) dims.push_back(d);
    if (b.wants(0)) b.results[0] = b.grad();
    if (!b.wants(1)) return;
    const Tensor gradient = sum(b.grad(), IntList(dims));
    b.results[1] = b.node->edges[0].defined() ? b.flat_in_inputs(gradient) : gradient;
  });
}

// The output with so many elements of dimension d, from the p-th on; zeros follow if there are
// fewer.
Tensor cut_out(const Tensor& y, int d, int64_t p, int64_t size) {
  const Tensor rest = slice(y, d, p, p + size, 1);
  if (rest.size(d) == size) return rest;
  Dims sizes = rest.sizes();
  sizes[d] = size - rest.size(d);
  return cat({rest, zeros(sizes, y.dtype(), y.device())}, d);
}

// Where output_padding is as large as a stride there is room for one more window, which the input
// has no element for: there all of the output is made, and cut out of that.
Tensor transpose_padded(const Tensor& x, const Tensor& weight, ConvSettings c,
                        const Dims& output_padding) {
  const Dims wanted = transposed_sizes(x, weight, c, output_padding), padding = c.padding;
  Dims more = output_padding;
  for (int d = 0; d < c.dims(); ++d)
    if (more[d] >= c.stride[d]) more[d] = c.padding[d] = 0;
  const Tensor whole = transpose_batch(x, weight, c, transposed_sizes(x, weight, c, more));
  Tensor y = whole;
  for (int d = 0; d < c.dims(); ++d)
    if (more[d] != output_padding[d]) y = cut_out(y, d + 2, padding[d], wanted[d + 2]);
  return y.is_same(whole) ? y : clone(y, MemoryFormat::kContiguous);
}

Tensor convolve_transposed(const char* op, const Tensor& input, const Tensor& weight,
                           const Tensor& bias, int dims, const ConvSettings& c,
                           IntList output_padding) {
  check_conv_ranks(op, dims, input, weight);
  const Dims more = window_numbers("output_padding", output_padding, dims);
  const bool has_batch = input.ndim() == dims + 2;
  const Tensor x = has_batch ? input : unsqueeze(input, 0);
  check_conv_transpose(x, weight, bias, c, more);
  if (!is_floating(x.dtype()))  // without elements
    return zeros(transposed_sizes(x, weight, c, more), x.dtype(), x.device());
  Tensor y = transpose_padded(x, weight, c, more);
  if (bias.defined()) y = add_bias(y, bias);
  return has_batch ? y : squeeze(y, {{0}});
}

// With a padding by name.
Tensor convolve_padded(const char* op, const Tensor& input, const Tensor& weight,
                       const Tensor& bias, int dims, IntList stride, const std::string& padding,
                       IntList dilation, int64_t groups) {
  check_conv_padding(padding);
  ConvSettings c = conv_settings(dims, stride, {0}, dilation, groups);
  if (padding == "valid" || weight.ndim() != dims + 2)
    return convolve(op, input, weight, bias, dims, c);
  check_same_padding(c.stride);
  // Of an odd number of zeros, the one more is at the end. Here it is also at the start, so that
  // the output begins with an element that "same" does not have.
  Dims more(dims, 0);
  for (int d = 0; d < dims; ++d) {
    const int64_t total = c.dilation[d] * (weight.size(d + 2) - 1);
    more[d] = total % 2;
    c.padding[d] = total / 2 + more[d];
  }
  // A padded line is row-major, also one whose sizes of 1 have other strides.
  const bool pads_line = dims == 1 && more[0] != 0;
  const Tensor x = pads_line ? row_major(input) : input;
  const Tensor whole = convolve(op, x, weight, bias, dims, c);
  Tensor y = whole;
  for (int d = 0; d < dims; ++d)
    if (more[d] != 0) y = slice(y, d - dims, 1, y.size(d - dims), 1);
  return y.is_same(whole) ? y : clone(y);
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
              IntList padding, IntList dilation, int64_t groups) {
  return convolve("conv1d", input, weight, bias, 1,
                  conv_settings(1, stride, padding, dilation, groups));
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
              IntList padding, IntList dilation, int64_t groups) {
  return convolve("conv2d", input, weight, bias, 2,
                  conv_settings(2, stride, padding, dilation, groups));
}

Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
              IntList padding, IntList dilation, int64_t groups) {
  return convolve("conv3d", input, weight, bias, 3,
                  conv_settings(3, stride, padding, dilation, groups));
}

Tensor conv1d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                      const std::string& padding, IntList dilation, int64_t groups) {
  return convolve_padded("conv1d", input, weight, bias, 1, stride, padding, dilation, groups);
}

Tensor conv2d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                      const std::string& padding, IntList dilation, int64_t groups) {
  return convolve_padded("conv2d", input, weight, bias, 2, stride, padding, dilation, groups);
}

Tensor conv3d_padding(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                      const std::string& padding, IntList dilation, int64_t groups) {
  return convolve_padded("conv3d", input, weight, bias, 3, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntList stride, IntList padding, IntList output_padding, int64_t groups,
                        IntList dilation) {
  return convolve_transposed("conv_transpose1d", input, weight, bias, 1,
                             conv_settings(1, stride, padding, dilation, groups), output_padding);
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntList stride, IntList padding, IntList output_padding, int64_t groups,
                        IntList dilation) {
  return convolve_transposed("conv_transpose2d", input, weight, bias, 2,
                             conv_settings(2, stride, padding, dilation, groups), output_padding);
}

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        IntList stride, IntList padding, IntList output_padding, int64_t groups,
                        IntList dilation) {
  return convolve_transposed("conv_transpose3d", input, weight, bias, 3,
                             conv_settings(3, stride, padding, dilation, groups), output_padding);
}

}  // namespace dt
