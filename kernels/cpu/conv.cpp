// conv2d and its gradients.
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_pointwise.h"
#include "kernels/cpu/register.h"

namespace dt::cpu {
namespace {

// The dimensions of a convolution of an image of in_h x in_w to one of out_h x out_w.
struct ConvShape {
  ConvDim rows, cols;
  int64_t groups;
};

ConvShape conv_shape(const dt_call* call, const dt_view& x, const dt_view& y,
                     const dt_view& weight) {
  const int64_t* p = call->ints;
  return {{x.sizes[2], y.sizes[2], weight.sizes[2], p[0], p[2], p[4]},
          {x.sizes[3], y.sizes[3], weight.sizes[3], p[1], p[3], p[5]},
          p[6]};
}

template <class T>
Correlation<T> describe_forward(const dt_call* call) {
  const dt_view &y = call->out[0], &x = call->in[0], &w = call->in[1];
  const ConvShape shape = conv_shape(call, x, y, w);
  Correlation<T> k = {};
  k.rows = forward_axis(shape.rows), k.cols = forward_axis(shape.cols);
  k.groups = shape.groups, k.in_channels = w.sizes[1], k.out_channels = w.sizes[0] / shape.groups;
  k.x = images<const T>(x), k.y = images<T>(y);
  k.weights = {data<const T>(w), k.out_channels * w.strides[0],
               w.strides[0],     w.strides[1],
               w.strides[2],     w.strides[3]};
  if (call->n_in > 2 && call->in[2].dtype != 0) {
    k.bias = data<const T>(call->in[2]);
    k.bias_step = call->in[2].strides[0];
  }
  return k;
}

// The part of the input's gradient in one phase of the strides. See Axis.
template <class T>
Correlation<T> describe_backward(const dt_call* call, int64_t row_phase, int64_t col_phase) {
  const dt_view &gx = call->out[0], &g = call->in[0], &w = call->in[1];
  const ConvShape shape = conv_shape(call, gx, g, w);
  Correlation<T> k = {};
  k.rows = backward_axis(shape.rows, row_phase), k.cols = backward_axis(shape.cols, col_phase);
  k.groups = shape.groups, k.in_channels = w.sizes[0] / shape.groups, k.out_channels = w.sizes[1];
  k.x = images<const T>(g), k.y = images<T>(gx);
  k.weights = {data<const T>(w), k.in_channels * w.strides[0],
               w.strides[1],     w.strides[0],
               w.strides[2],     w.strides[3]};
  return k;
}

template <class T>
WeightGradient<T> describe_weight(const dt_call* call) {
  const dt_view &gw = call->out[0], &g = call->in[0], &x = call->in[1];
  const ConvShape shape = conv_shape(call, x, g, gw);
  WeightGradient<T> k = {};
  k.rows = forward_axis(shape.rows), k.cols = forward_axis(shape.cols);
  k.groups = shape.groups, k.in_channels = gw.sizes[1], k.out_channels = gw.sizes[0] / shape.groups;
  k.g = images<const T>(g), k.x = images<const T>(x), k.gw = images<T>(gw);
  if (call->n_out > 1 && call->out[1].dtype != 0) {
    k.gb = data<T>(call->out[1]);
    k.gb_step = call->out[1].strides[0];
  }
  return k;
}

template <class T>
bool is_empty(const Correlation<T>& k) {
  return k.y.n == 0 || k.out_channels == 0 || k.rows.out_count == 0 || k.cols.out_count == 0;
}

// The ways to compute a correlation.
template <class T>
int64_t correlation_bytes(const dt_stream* stream, const Correlation<T>& k) {
  if (is_pointwise(k)) return gemm_workspace(stream, pointwise_gemm(k));
  return is_depthwise(k) ? depthwise_workspace(k) : correlation_workspace(stream, k);
}

template <class T>
void run_correlation(const dt_stream* stream, const Correlation<T>& k, void* workspace) {
  if (is_pointwise(k)) {
    run_gemm(stream, pointwise_gemm(k), Workspace(workspace));
  } else if (is_depthwise(k)) {
    depthwise(stream, k, Workspace(workspace));
  } else {
    correlate(stream, k, Workspace(workspace));
  }
}

template <class T>
struct Forward {
  static int64_t workspace(const dt_stream* stream, const dt_call* call) {
    const Correlation<T> k = describe_forward<T>(call);
    return is_empty(k) ? 0 : correlation_bytes(stream, k);
  }
  static void run(const dt_stream* stream, const dt_call* call) {
    const Correlation<T> k = describe_forward<T>(call);
    if (!is_empty(k)) run_correlation(stream, k, call->workspace);
  }
};

template <class T>
struct BackwardInput {
  // Calls body(correlation) for each phase that has outputs.
  template <class Body>
  static void for_each_phase(const dt_call* call, const Body& body) {
    for (int64_t r = 0; r < call->ints[0]; ++r) {
      for (int64_t q = 0; q < call->ints[1]; ++q) {
        const Correlation<T> k = describe_backward<T>(call, r, q);
        if (!is_empty(k)) body(k);
      }
    }
  }
  static int64_t workspace(const dt_stream* stream, const dt_call* call) {
    int64_t bytes = 0;
    for_each_phase(
        call, [&](const Correlation<T>& k) { bytes = max(bytes, correlation_bytes(stream, k)); });
    return bytes;
  }
  static void run(const dt_stream* stream, const dt_call* call) {
    for_each_phase(call,
                   [&](const Correlation<T>& k) { run_correlation(stream, k, call->workspace); });
  }
};

// Without images or positions the gradient of a weight is an empty sum.
template <class T>
void clear_gradient(const WeightGradient<T>& k) {
  for (int64_t o = 0; o < k.gw.n; ++o) {
    for (int64_t c = 0; c < k.gw.c; ++c) {
      for (int64_t r = 0; r < k.gw.h; ++r) {
        for (int64_t q = 0; q < k.gw.w; ++q) *k.gw.at(o, c, r, q) = 0;
      }
    }
    if (k.gb != nullptr) k.gb[o * k.gb_step] = 0;
  }
}

template <class T>
struct BackwardWeight {
  static bool is_empty(const WeightGradient<T>& k) {
    return k.g.n == 0 || k.g.h == 0 || k.g.w == 0 || k.out_channels == 0;
  }
  static int64_t workspace(const dt_stream* stream, const dt_call* call) {
    const WeightGradient<T> k = describe_weight<T>(call);
    if (is_empty(k)) return 0;
    return is_depthwise(k) ? depthwise_weight_workspace(k) : weight_workspace(stream, k);
  }
  static void run(const dt_stream* stream, const dt_call* call) {
    const WeightGradient<T> k = describe_weight<T>(call);
    if (is_empty(k)) {
      clear_gradient(k);
    } else if (is_depthwise(k)) {
      depthwise_weight(stream, k, Workspace(call->workspace));
    } else {
      weight_gradient(stream, k, Workspace(call->workspace));
    }
  }
};

template <template <class> class Op>
int32_t run(const dt_stream* stream, const dt_call* call) {
  switch (call->out[0].dtype) {
    case DT_FLOAT32:
      Op<float>::run(stream, call);
      return DT_KERNEL_OK;
    case DT_FLOAT64:
      Op<double>::run(stream, call);
      return DT_KERNEL_OK;
    default:
      return DT_KERNEL_UNSUPPORTED;
  }
}

template <template <class> class Op>
int64_t workspace(const dt_stream* stream, const dt_call* call) {
  switch (call->out[0].dtype) {
    case DT_FLOAT32:
      return Op<float>::workspace(stream, call);
    case DT_FLOAT64:
      return Op<double>::workspace(stream, call);
    default:
      return 0;
  }
}

}  // namespace

void register_conv(dt_registry* registry) {
  add(registry, "conv2d", run<Forward>, workspace<Forward>);
  add(registry, "conv2d_backward_input", run<BackwardInput>, workspace<BackwardInput>);
  add(registry, "conv2d_backward_weight", run<BackwardWeight>, workspace<BackwardWeight>);
}

}  // namespace dt::cpu
