// Convolution of images. It is linear in the input and in the weight, and so are its two gradients:
// each of the three ops has the other two as its derivatives, so every order is right.
#include "core/ops/creation.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/conv/images.h"
#include "core/ops/conv/ways.h"

#include "core/autograd/record.h"
#include "core/ops/bilinear.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/conv.gen.h"

namespace dt {
namespace {

Tensor input_gradient(const Tensor& g, const Tensor& weight, const Dims& input_sizes,
                      const ConvGeometry& geometry);
Tensor weight_gradient(const Tensor& g, const Tensor& x, const Dims& weight_sizes,
                       const ConvGeometry& geometry);

// Of a call of any of the three kernels.
template <class Call>
void set_geometry(Call& call, const ConvGeometry& c) {
  call.stride = c.window.stride;
  call.padding = c.window.padding;
  call.dilation = c.window.dilation;
  call.groups = c.groups;
}

Dims output_sizes(const Dims& x, const Dims& weight, const ConvGeometry& c) {
  return {x[0], weight[0], c.window.output_size(0, x[2]), c.window.output_size(1, x[3])};
}

Tensor padded_image(const Tensor& x, const Window& w) {
  const Dims sizes{x.sizes()[0], x.sizes()[1], x.sizes()[2] + 2 * w.padding[0],
                   x.sizes()[3] + 2 * w.padding[1]};
  const Tensor y = zeros(sizes, x.dtype(), x.device());
  copy_(slice(slice(y, 2, w.padding[0], w.padding[0] + x.sizes()[2], 1), 3, w.padding[1],
              w.padding[1] + x.sizes()[3], 1),
        x);
  return y;
}

// Integers have no kernel of their own: a matrix product for each point of the window. They wrap,
// as they do in PyTorch.
Tensor convolve_integers(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const ConvGeometry& c) {
  const Window& w = c.window;
  const Dims sizes = output_sizes(x.sizes(), weight.sizes(), c);
  const int64_t per_group = weight.sizes()[1];
  const Tensor image = padded_image(x, w);
  Tensor y =
      zeros({sizes[0], c.groups, sizes[1] / c.groups, sizes[2] * sizes[3]}, x.dtype(), x.device());
  for (int64_t i = 0; i < w.size[0]; ++i) {
    for (int64_t j = 0; j < w.size[1]; ++j) {
      const int64_t top = i * w.dilation[0], left = j * w.dilation[1];
      const Tensor rows = slice(image, 2, top, top + (sizes[2] - 1) * w.stride[0] + 1, w.stride[0]);
      const Tensor points =
          slice(rows, 3, left, left + (sizes[3] - 1) * w.stride[1] + 1, w.stride[1]);
      const Tensor factors =
          reshape(select(select(weight, 3, j), 2, i), {c.groups, sizes[1] / c.groups, per_group});
      add_(y,
           matmul(factors, reshape(points, {sizes[0], c.groups, per_group, sizes[2] * sizes[3]})));
    }
  }
  y = unsafe_view(y, sizes);
  return bias.defined() ? add(y, reshape(bias, {-1, 1, 1})) : y;
}

Tensor image_of(const Tensor& rows, const Dims& sizes, bool channels_last) {
  const Tensor planes = unsafe_view(rows, sizes);
  if (!channels_last) return planes;
  const Tensor y = empty_image(sizes, rows, true);
  copy_(y, planes);
  return y;
}

Tensor run_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const Dims& sizes,
                       bool channels_last, const ConvGeometry& c) {
  const Tensor y = empty_image(sizes, x, channels_last);
  Conv2dCall call;
  call.y = y;
  call.x = x;
  call.weight = weight;
  call.bias = bias;
  set_geometry(call, c);
  run(op::conv2d, call);
  return y;
}

// The convolution without a record. The result is channels-last if an operand is.
Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvGeometry& c) {
  const Dims sizes = output_sizes(x.sizes(), weight.sizes(), c);
  const bool channels_last = is_channels_last(x) || is_channels_last(weight);
  const GradMode no_grad(false);
  if (is_product(x, x.sizes(), c))
    return image_of(linear(as_rows(x), as_rows(weight), bias), sizes, channels_last);
  if (!is_worth_channels_last(x, weight, sizes, c, false))
    return run_convolution(x, weight, bias, sizes, channels_last, c);
  return contiguous(run_convolution(as_channels_last(x), weight, bias, sizes, true, c));
}

// Of constants it is a constant, too.
Tensor bias_gradient(const BackwardCall& b) {
  const Tensor gradient = sum(b.grad(), {{0, 2, 3}});
  const bool has_variables = b.node->edges[0].defined() || b.node->edges[1].defined();
  return has_variables ? b.flat_in_inputs(gradient) : gradient;
}

// Gradients of weight and bias come from one kernel when no graph of the backward is built.
void parameter_gradients(BackwardCall& b, const Tensor& x, const Dims& weight_sizes,
                         const ConvGeometry& c) {
  const Tensor& g = b.grad();
  if (!b.wants(1) || !b.wants(2) || b.create_graph || is_product(x, x.sizes(), c)) {
    if (b.wants(1)) b.results[1] = b.in_graph(weight_gradient(g, x, weight_sizes, c));
    if (b.wants(2)) b.results[2] = bias_gradient(b);
    return;
  }
  b.results[1] = make_empty(weight_sizes, g.dtype(), g.device());
  b.results[2] = make_empty({weight_sizes[0]}, g.dtype(), g.device());
  Conv2dBackwardWeightCall call;
  call.gweight = b.results[1];
  call.gbias = b.results[2];
  call.g = g;
  call.x = x;
  set_geometry(call, c);
  run(op::conv2d_backward_weight, call);
}

Tensor recorded_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const ConvGeometry& c) {
  const Tensor y = convolve(x, weight, bias, c);
  const bool wants_x = needs_graph(x), wants_weight = needs_graph(weight);
  if (!wants_x && !wants_weight && !needs_graph(bias)) return y;
  return record("ConvolutionBackward0", y, {x, weight, bias},
                [sx = save_if(wants_weight, x), sw = save_if(wants_x, weight), x_sizes = x.sizes(),
                 w_sizes = weight.sizes(), c](BackwardCall& b) {
                  if (b.wants(0))
                    b.results[0] = b.in_graph(input_gradient(b.grad(), sw.get(b.node), x_sizes, c));
                  if (b.wants(1) || b.wants(2)) parameter_gradients(b, sx.get(b.node), w_sizes, c);
                });
}

Tensor run_spreading(const Tensor& g, const Tensor& weight, const Dims& input_sizes,
                     bool channels_last, const ConvGeometry& c) {
  const Tensor gx = empty_image(input_sizes, g, channels_last);
  Conv2dBackwardInputCall call;
  call.gx = gx;
  call.g = g;
  call.weight = weight;
  set_geometry(call, c);
  run(op::conv2d_backward_input, call);
  return gx;
}

// The transposed convolution without a record.
Tensor spread(const Tensor& g, const Tensor& weight, const Dims& input_sizes,
              const ConvGeometry& c) {
  const bool channels_last = is_channels_last(g) || is_channels_last(weight);
  const GradMode no_grad(false);
  if (is_product(g, input_sizes, c))
    return image_of(matmul(as_rows(g), as_rows(weight)), input_sizes, channels_last);
  if (!is_worth_channels_last(g, weight, input_sizes, c, true))
    return run_spreading(g, weight, input_sizes, channels_last, c);
  return contiguous(run_spreading(as_channels_last(g), weight, input_sizes, true, c));
}

Tensor input_gradient(const Tensor& g, const Tensor& weight, const Dims& input_sizes,
                      const ConvGeometry& c) {
  return record_bilinear(
      "ConvolutionBackwardBackward0", spread(g, weight, input_sizes, c), g, weight,
      [c](const Tensor& grad, const Tensor& weight) {
        return recorded_convolution(grad, weight, Tensor(), c);
      },
      [c, sizes = weight.sizes()](const Tensor& g, const Tensor& grad) {
        return weight_gradient(g, grad, sizes, c);
      });
}

// The same for the weight without a record.
Tensor correlate(const Tensor& g, const Tensor& x, const Dims& weight_sizes,
                 const ConvGeometry& c) {
  const GradMode no_grad(false);
  if (is_product(x, x.sizes(), c))
    return unsafe_view(matmul(t(as_rows(g)), as_rows(x)), weight_sizes);
  const Tensor gw = make_empty(weight_sizes, g.dtype(), g.device());
  Conv2dBackwardWeightCall call;
  call.gweight = gw;
  call.g = g;
  call.x = x;
  set_geometry(call, c);
  run(op::conv2d_backward_weight, call);
  return gw;
}

Tensor weight_gradient(const Tensor& g, const Tensor& x, const Dims& weight_sizes,
                       const ConvGeometry& c) {
  return record_bilinear(
      "ConvolutionBackwardBackward0", correlate(g, x, weight_sizes, c), g, x,
      [c](const Tensor& grad, const Tensor& x) {
        return recorded_convolution(x, grad, Tensor(), c);
      },
      [c, sizes = x.sizes()](const Tensor& g, const Tensor& grad) {
        return input_gradient(g, grad, sizes, c);
      });
}

}  // namespace

Tensor convolve_images(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const ConvGeometry& c) {
  if (is_bool(x.dtype()))
    return zeros(output_sizes(x.sizes(), weight.sizes(), c), kMaskDType, x.device());
  if (!is_floating(x.dtype())) return convolve_integers(x, weight, bias, c);
  return recorded_convolution(x, weight, bias, c);
}

Tensor spread_images(const Tensor& x, const Tensor& weight, const Dims& sizes,
                     const ConvGeometry& c) {
  const Tensor y = spread(x, weight, sizes, c);
  const bool wants_x = needs_graph(x), wants_weight = needs_graph(weight);
  if (!wants_x && !wants_weight) return y;
  return record("ConvolutionBackward0", y, {x, weight},
                [sx = save_if(wants_weight, x), sw = save_if(wants_x, weight),
                 w_sizes = weight.sizes(), c](BackwardCall& b) {
                  const Tensor& g = b.grad();
                  if (b.wants(0))
                    b.results[0] = b.in_graph(recorded_convolution(g, sw.get(b.node), Tensor(), c));
                  if (b.wants(1))
                    b.results[1] = b.in_graph(weight_gradient(sx.get(b.node), g, w_sizes, c));
                });
}

}  // namespace dt
