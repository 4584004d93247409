// conv2d and its gradients.
#include "kernels/calls/conv.gen.h"
#include "kernels/cpu/conv_channels_last.h"
#include "kernels/cpu/conv_planes.h"
#include "kernels/cpu/conv_pointwise.h"

namespace dt::cpu {
namespace {

// The dimensions of a convolution of an image of in_h x in_w to one of out_h x out_w.
struct ConvShape {
  ConvDim rows, cols;
  int64_t groups;
};

template <class Call>
ConvShape conv_shape(const Call& call, const dt_view& x, const dt_view& y, const dt_view& weight) {
  const auto dim = [&](int d) {
    return ConvDim{x.sizes[2 + d], y.sizes[2 + d],  weight.sizes[2 + d],
                   call.stride[d], call.padding[d], call.dilation[d]};
  };
  return {dim(0), dim(1), call.groups};
}

template <class T>
__attribute__((noinline)) Correlation<T> describe_forward(const calls::Conv2d& call) {
  const dt_view &y = call.y, &x = call.x, &w = call.weight;
  const ConvShape shape = conv_shape(call, x, y, w);
  Correlation<T> k = {};
  k.rows = without_idle_taps(forward_axis(shape.rows));
  k.cols = without_idle_taps(forward_axis(shape.cols));
  k.groups = shape.groups, k.in_channels = w.sizes[1], k.out_channels = w.sizes[0] / shape.groups;
  k.x = images<const T>(x), k.y = images<T>(y);
  k.weights = {data<const T>(w), k.out_channels * w.strides[0],
               w.strides[0],     w.strides[1],
               w.strides[2],     w.strides[3]};
  if (call.bias) {
    k.bias = data<const T>(*call.bias);
    k.bias_step = call.bias->strides[0];
  }
  return k;
}

// The part of the input's gradient of some images in one phase of the strides. See ConvAxis.
template <class T>
__attribute__((noinline)) Correlation<T> describe_backward(const calls::Conv2dBackwardInput& call,
                                                           int64_t first, int64_t images,
                                                           int64_t row_phase, int64_t col_phase) {
  const dt_view &gx = call.gx, &g = call.g, &w = call.weight;
  const ConvShape shape = conv_shape(call, gx, g, w);
  Correlation<T> k = {};
  k.rows = without_idle_taps(backward_axis(shape.rows, row_phase));
  k.cols = without_idle_taps(backward_axis(shape.cols, col_phase));
  k.groups = shape.groups, k.in_channels = w.sizes[0] / shape.groups, k.out_channels = w.sizes[1];
  k.x = cpu::images<const T>(g), k.y = cpu::images<T>(gx);
  k.x.data = k.x.at(first, 0, 0, 0), k.y.data = k.y.at(first, 0, 0, 0);
  k.x.n = k.y.n = images;
  k.weights = {data<const T>(w), k.in_channels * w.strides[0],
               w.strides[1],     w.strides[0],
               w.strides[2],     w.strides[3]};
  return k;
}

template <class T>
__attribute__((noinline)) WeightGradient<T> describe_weight(
    const calls::Conv2dBackwardWeight& call) {
  const dt_view &gw = call.gweight, &g = call.g, &x = call.x;
  const ConvShape shape = conv_shape(call, x, g, gw);
  WeightGradient<T> k = {};
  k.rows = forward_axis(shape.rows), k.cols = forward_axis(shape.cols);
  k.groups = shape.groups, k.in_channels = gw.sizes[1], k.out_channels = gw.sizes[0] / shape.groups;
  k.g = images<const T>(g), k.x = images<const T>(x), k.gw = images<T>(gw);
  if (call.gbias) {
    k.gb = data<T>(*call.gbias);
    k.gb_step = call.gbias->strides[0];
  }
  return k;
}

// Of the taps that reach an input; the gradients of the others are 0.
template <class T>
__attribute__((noinline)) WeightGradient<T> without_idle_taps(WeightGradient<T> k) {
  k.rows = without_idle_taps(k.rows), k.cols = without_idle_taps(k.cols);
  k.gw.data = k.gw.at(0, 0, k.rows.tap_first, k.cols.tap_first);
  k.gw.h = k.rows.taps, k.gw.w = k.cols.taps;
  return k;
}

template <class T>
bool is_empty(const Correlation<T>& k) {
  return k.y.n == 0 || k.out_channels == 0 || k.rows.out_count == 0 || k.cols.out_count == 0;
}

// The ways to compute a convolution or a gradient of it, the first that fits.
enum class Way { kProduct, kChannelsLast, kDepthwise, kDepthwisePlanes, kGeneral };

template <class T>
__attribute__((noinline)) Way way_of(const Correlation<T>& k) {
  if (is_pointwise(k)) return Way::kProduct;
  if (is_channels_last(k)) return Way::kChannelsLast;
  if (is_depthwise(k)) return Way::kDepthwise;
  return is_depthwise_planes(k) ? Way::kDepthwisePlanes : Way::kGeneral;
}

template <class T>
Way way_of(const WeightGradient<T>& k) {
  if (is_pointwise(k)) return Way::kProduct;
  if (is_pointwise_in_place(k)) return Way::kChannelsLast;
  if (is_depthwise(k)) return Way::kDepthwise;
  return is_depthwise_planes(k) ? Way::kDepthwisePlanes : Way::kGeneral;
}

template <class T>
__attribute__((noinline)) int64_t correlation_bytes(const dt_stream* stream,
                                                    const Correlation<T>& k) {
  switch (way_of(k)) {
    case Way::kProduct:
      return gemm_workspace(stream, pointwise_gemm(k));
    case Way::kChannelsLast:
      return ChannelsLastConvolution<T>(stream, k, Workspace(nullptr)).bytes();
    case Way::kDepthwise:
      return DepthwisePhases<T>::workspace(k);
    case Way::kDepthwisePlanes:
      return PlanePhases<T>::workspace(stream, k);
    default:
      return correlation_workspace(stream, k);
  }
}

// The phases of a correlation, in turn; those of depthwise ones row by row together.
template <class T>
class Phases {
 public:
  Phases(const dt_stream* stream, void* workspace) : stream_(stream), workspace_(workspace) {}

  __attribute__((noinline)) void add(const Correlation<T>& k) {
    switch (way_of(k)) {
      case Way::kProduct:
        return run_gemm(stream_, pointwise_gemm(k), workspace_);
      case Way::kChannelsLast:
        return ChannelsLastConvolution<T>(stream_, k, Workspace(workspace_)).run(stream_);
      case Way::kDepthwise:
        channels_.phase[channels_.count++] = k;
        if (channels_.count == channels_.kMost) run_channels();
        return;
      case Way::kDepthwisePlanes:
        planes_.phase[planes_.count++] = k;
        return;
      case Way::kGeneral:
        return correlate(stream_, k, Workspace(workspace_));
    }
  }

  void finish() {
    run_channels();
    planes_.run(stream_, Workspace(workspace_));
  }

 private:
  void run_channels() {
    channels_.run(stream_, Workspace(workspace_));
    channels_.count = 0;
  }

  const dt_stream* stream_;
  void* workspace_;
  DepthwisePhases<T> channels_;
  PlanePhases<T> planes_;
};

template <class T>
struct Forward {
  static int64_t workspace(const dt_stream* stream, const calls::Conv2d& call) {
    const Correlation<T> k = describe_forward<T>(call);
    return is_empty(k) ? 0 : correlation_bytes(stream, k);
  }
  static void run(const dt_stream* stream, const calls::Conv2d& call) {
    const Correlation<T> k = describe_forward<T>(call);
    if (is_empty(k)) return;
    Phases<T> alone(stream, call.workspace);
    alone.add(k);
    alone.finish();
  }
};

constexpr int64_t kPhaseBytes = 2 * 1024 * 1024;  // what a thread's share of the caches may keep

template <class T>
struct BackwardInput {
  // Phases write to the same lines. So they follow each other for as many images as the caches
  // keep, unless the weights that are packed for each part are many.
  __attribute__((noinline)) static int64_t images_together(const dt_stream* stream,
                                                           const calls::Conv2dBackwardInput& call) {
    const int64_t images = call.gx.sizes[0];
    const int64_t elements = count(call.gx) / max<int64_t>(1, images);
    if (call.stride[0] * call.stride[1] == 1 || 16 * count(call.weight) > elements) return images;
    const int64_t bytes = max<int64_t>(1, elements * static_cast<int64_t>(sizeof(T)));
    return min(images, max<int64_t>(1, kPhaseBytes * stream->threads / bytes));
  }
  // Calls body(first, images) for each part of the images.
  template <class Body>
  static void for_each_part(const dt_stream* stream, const calls::Conv2dBackwardInput& call,
                            const Body& body) {
    const int64_t images = call.gx.sizes[0], together = images_together(stream, call);
    for (int64_t first = 0; first < images; first += together)
      body(first, min(together, images - first));
  }
  // Calls body(correlation) for each phase that has outputs.
  template <class Body>
  static void for_each_phase(const calls::Conv2dBackwardInput& call, int64_t first, int64_t images,
                             const Body& body) {
    for (int64_t r = 0; r < call.stride[0]; ++r) {
      for (int64_t q = 0; q < call.stride[1]; ++q) {
        const Correlation<T> k = describe_backward<T>(call, first, images, r, q);
        if (!is_empty(k)) body(k);
      }
    }
  }
  static int64_t workspace(const dt_stream* stream, const calls::Conv2dBackwardInput& call) {
    int64_t bytes = 0;
    for_each_part(stream, call, [&](int64_t first, int64_t images) {
      for_each_phase(call, first, images, [&](const Correlation<T>& k) {
        bytes = max(bytes, correlation_bytes(stream, k));
      });
    });
    return bytes;
  }
  static void run(const dt_stream* stream, const calls::Conv2dBackwardInput& call) {
    for_each_part(stream, call, [&](int64_t first, int64_t images) {
      Phases<T> phases(stream, call.workspace);
      for_each_phase(call, first, images, [&](const Correlation<T>& k) { phases.add(k); });
      phases.finish();
    });
  }
};

// Without images or positions the gradient of a weight is an empty sum.
template <class T>
__attribute__((noinline)) void clear_gradient(const WeightGradient<T>& k) {
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
  static int64_t workspace(const dt_stream* stream, const calls::Conv2dBackwardWeight& call) {
    const WeightGradient<T> all = describe_weight<T>(call);
    if (is_empty(all)) return 0;
    const WeightGradient<T> k = without_idle_taps(all);
    switch (way_of(k)) {
      case Way::kProduct:
        return gemm_workspace(stream, pointwise_gemm(k));
      case Way::kChannelsLast:
        return PointwiseWeight<T>(k, Workspace(nullptr)).bytes();
      case Way::kDepthwise:
        return depthwise_weight_workspace(k);
      case Way::kDepthwisePlanes:
        return plane_weight_workspace(k);
      default:
        return weight_workspace(stream, k);
    }
  }
  static void run(const dt_stream* stream, const calls::Conv2dBackwardWeight& call) {
    const WeightGradient<T> all = describe_weight<T>(call);
    if (is_empty(all)) return clear_gradient(all);
    const WeightGradient<T> k = without_idle_taps(all);
    if (k.gw.h * k.gw.w != all.gw.h * all.gw.w) clear_gradient(all);
    const Workspace workspace(call.workspace);
    switch (way_of(k)) {
      case Way::kProduct:
        return run_gemm(stream, pointwise_gemm(k), call.workspace);
      case Way::kChannelsLast:
        return PointwiseWeight<T>(k, workspace).run(stream);
      case Way::kDepthwise:
        return depthwise_weight(stream, k, workspace);
      case Way::kDepthwisePlanes:
        return plane_weight(stream, k, workspace);
      default:
        return weight_gradient(stream, k, workspace);
    }
  }
};

template <template <class> class Op, class Call>
int32_t run(const dt_stream* stream, const Call& call, int32_t dtype) {
  return visit_floating(dtype,
                        [&](auto type) { Op<typename decltype(type)::type>::run(stream, call); });
}

template <template <class> class Op, class Call>
int64_t workspace(const dt_stream* stream, const Call& call, int32_t dtype) {
  int64_t bytes = 0;
  visit_floating(dtype, [&](auto type) {
    bytes = Op<typename decltype(type)::type>::workspace(stream, call);
  });
  return bytes;
}

}  // namespace

int32_t kernels::conv2d(const dt_stream* stream, const calls::Conv2d& call) {
  return run<Forward>(stream, call, call.y.dtype);
}

int64_t kernels::conv2d_workspace(const dt_stream* stream, const calls::Conv2d& call) {
  return workspace<Forward>(stream, call, call.y.dtype);
}

int32_t kernels::conv2d_backward_input(const dt_stream* stream,
                                       const calls::Conv2dBackwardInput& call) {
  return run<BackwardInput>(stream, call, call.gx.dtype);
}

int64_t kernels::conv2d_backward_input_workspace(const dt_stream* stream,
                                                 const calls::Conv2dBackwardInput& call) {
  return workspace<BackwardInput>(stream, call, call.gx.dtype);
}

int32_t kernels::conv2d_backward_weight(const dt_stream* stream,
                                        const calls::Conv2dBackwardWeight& call) {
  return run<BackwardWeight>(stream, call, call.gweight.dtype);
}

int64_t kernels::conv2d_backward_weight_workspace(const dt_stream* stream,
                                                  const calls::Conv2dBackwardWeight& call) {
  return workspace<BackwardWeight>(stream, call, call.gweight.dtype);
}

}  // namespace dt::cpu
