// Normalisation of groups of channels, of the channels of each image, and of an element among the
// channels beside it.
#include "core/autograd/fused.h"
#include "core/ops/autocast/autocast.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pool.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/nn/normalisation.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"

namespace dt {
namespace {

// A contiguous x as one image of `channels` channels: what batch_norm's kernels then compute is of
// these.
View as_channels(const Tensor& x, int64_t channels) {
  const int64_t length = x.numel() / channels;
  return View(x, {1, channels, length}, {x.numel(), length, 1}, x.offset());
}

// A contiguous x [batch, channels, ...] as group_norm's kernels see it.
View as_images(const Tensor& x) {
  const int64_t image = x.numel() / x.size(0), length = image / x.size(1);
  return View(x, {x.size(0), x.size(1), length}, {image, length, 1}, x.offset());
}

// Of [batch, channels, ...] in groups, with their statistics [batch * groups].
struct GroupNorm {
  int64_t groups;
  double eps;
  Tensor mean, rstd;

  GroupNorm(const Tensor& x, int64_t groups, double eps)
      : groups(groups),
        eps(eps),
        mean(make_empty({x.size(0) * groups}, info(x.dtype()).compute, x.device())),
        rstd(make_empty({x.size(0) * groups}, info(x.dtype()).compute, x.device())) {}

  // A number of each group as one of each image's channels: [batch, channels, 1, ...].
  Tensor spread(const Tensor& numbers, const Tensor& x) const {
    const int64_t batch = x.size(0), channels = x.size(1);
    const Tensor columns = reshape(numbers, {batch, groups, 1});
    return reshape(expand(columns, {batch, groups, channels / groups}), shape_of(x, batch));
  }
  // The mean over a group's elements, of sums over those of each channel.
  Tensor average(const Tensor& sums, const Tensor& x) const {
    const int64_t batch = x.size(0), channels = x.size(1);
    const double elements = static_cast<double>(x.numel() / (batch * groups));
    return sum(reshape(sums, {batch, groups, channels / groups}), {{2}}) / elements;
  }
  static Dims shape_of(const Tensor& x, int64_t batch) {
    Dims shape(x.ndim(), 1);
    shape[0] = batch, shape[1] = x.size(1);
    return shape;
  }
};

Tensor dense_parameter(const Tensor& parameter) {
  return parameter.defined() ? contiguous(parameter) : parameter;
}

Tensor group_norm_composition(const std::vector<Tensor>& in, int64_t groups, double eps) {
  const Tensor& x = in[0];
  int64_t elements = x.size(1) / groups;  // of a group; there may be no images
  for (int d = 2; d < x.ndim(); ++d) elements *= x.size(d);
  const Tensor rows = reshape(x, {x.size(0), groups, elements});
  const Tensor centered = rows - mean(rows, {{2}}, true);
  const Tensor variance = mean(square(centered), {{2}}, true);
  const Tensor y = reshape(centered / sqrt(variance + eps), x.sizes());
  return scale_and_shift(y, in[1], in[2], GroupNorm::shape_of(x, 1));
}

// ---- where a backend has no kernel, and of channels-last images

void find_statistics(const Tensor& x, const GroupNorm& of) {
  const Tensor dense = contiguous(x);
  BatchNormCall call;
  call.mean = of.mean;
  call.rstd = of.rstd;
  call.x = as_channels(dense, of.mean.numel());
  call.training = true;
  call.eps = of.eps;
  run(op::batch_norm, call);
}

// Sums over each image's channels: of g, and of g times the normalised x; [batch, channels].
struct ChannelSums {
  Tensor g, gx;
};

ChannelSums channel_sums(const Tensor& g, const Tensor& x, const GroupNorm& of) {
  const Dims sizes{x.size(0), x.size(1)};
  const int64_t channels = sizes[0] * sizes[1];
  const ChannelSums sums{make_empty(sizes, x.dtype(), x.device()),
                         make_empty(sizes, x.dtype(), x.device())};
  const Tensor dense_g = contiguous(g), dense_x = contiguous(x);
  const Tensor mean = contiguous(of.spread(of.mean, x)), rstd = contiguous(of.spread(of.rstd, x));
  BatchNormBackwardCall call;
  call.gweight = View(sums.gx, {channels}, {1}, 0);
  call.gbias = View(sums.g, {channels}, {1}, 0);
  call.g = as_channels(dense_g, channels);
  call.x = as_channels(dense_x, channels);
  call.mean = View(mean, {channels}, {1}, mean.offset());
  call.rstd = View(rstd, {channels}, {1}, rstd.offset());
  call.training = false;
  run(op::batch_norm_backward, call);
  return sums;
}

// x * scale + shift, with a scale and a shift for each image's channels.
Tensor normalise(const Tensor& x, const Tensor& weight, const Tensor& bias, const GroupNorm& of) {
  const GradMode no_grad(false);
  const Dims shape = GroupNorm::shape_of(x, 1);
  Tensor scale = of.spread(of.rstd, x), shift = of.spread(neg(of.mean * of.rstd), x);
  if (weight.defined()) {
    scale = scale * reshape(weight, shape);
    shift = shift * reshape(weight, shape);
  }
  if (bias.defined()) shift = shift + reshape(bias, shape);
  return multiply_add(shift, x, scale);
}

void backward_by_channels(BackwardCall& b, const std::vector<Tensor>& in, const GroupNorm& of) {
  const Tensor& x = in[0];
  const ChannelSums sums = channel_sums(b.grad(), x, of);
  if (b.wants(1)) b.results[1] = sum(sums.gx, {{0}});
  if (b.wants(2)) b.results[2] = sum(sums.g, {{0}});
  if (!b.wants(0)) return;
  const bool weighs = in[1].defined();
  const Tensor g = of.average(weighs ? sums.g * in[1] : sums.g, x),
               gx = of.average(weighs ? sums.gx * in[1] : sums.gx, x);
  const Tensor rstd = reshape(of.rstd, g.sizes()), spread = of.spread(of.rstd, x);
  const Tensor scale = weighs ? spread * reshape(in[1], GroupNorm::shape_of(x, 1)) : spread;
  const Tensor slope = rstd * gx, mean = reshape(of.mean, g.sizes());
  const Tensor level = of.spread(rstd * (slope * mean - g), x);
  const Tensor statistical = multiply_add(level, x, of.spread(neg(rstd * slope), x));
  b.results[0] = multiply_add_(statistical, b.grad(), scale);
}

// ---- the kernels

// Undefined where a backend has none.
Tensor normalise_at_once(const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const GroupNorm& of) {
  const Tensor dense = contiguous(x), y = make_empty(x.sizes(), x.dtype(), x.device());
  const Tensor factors = dense_parameter(weight), terms = dense_parameter(bias);
  GroupNormCall call;
  call.y = as_images(y);
  call.mean = of.mean;
  call.rstd = of.rstd;
  call.x = as_images(dense);
  call.weight = factors;
  call.bias = terms;
  call.eps = of.eps;
  return run_shortcut(op::group_norm, call) ? y : Tensor();
}

bool backward_at_once(BackwardCall& b, const std::vector<Tensor>& in, const GroupNorm& of) {
  const Tensor x = contiguous(in[0]), g = contiguous(b.grad()), weight = dense_parameter(in[1]);
  const auto wanted = [&](int i) {
    return b.wants(i) ? make_empty(in[i].sizes(), in[i].dtype(), x.device()) : Tensor();
  };
  const Tensor results[] = {wanted(0), wanted(1), wanted(2)};
  GroupNormBackwardCall call;
  if (results[0].defined()) call.gx = as_images(results[0]);
  call.gweight = results[1];
  call.gbias = results[2];
  call.g = as_images(g);
  call.x = as_images(x);
  call.mean = of.mean;
  call.rstd = of.rstd;
  call.weight = weight;
  if (!run_shortcut(op::group_norm_backward, call)) return false;
  for (int i = 0; i < 3; ++i) b.results[i] = results[i];
  return true;
}

void group_norm_backward(BackwardCall& b, const std::vector<Tensor>& in, const GroupNorm& of) {
  const GradMode no_grad(false);
  if (is_channels_last(in[0]) || !backward_at_once(b, in, of)) backward_by_channels(b, in, of);
}

Tensor recorded(const Tensor& y, const std::vector<Tensor>& in, const GroupNorm& of) {
  if (!needs_graph(in)) return y;
  return fused(
      "NativeGroupNormBackward0", y, in,
      {Saved::input(in[0]), Saved::input(in[1]), Saved::place(in[2])},
      [groups = of.groups, eps = of.eps](const std::vector<Tensor>& x) {
        return group_norm_composition(x, groups, eps);
      },
      [of](BackwardCall& call, const std::vector<Tensor>& x) { group_norm_backward(call, x, of); });
}

// A narrow input's statistics are not: all of it is computed in what its kernels compute in.
template <class Normalise>
Tensor widened(const Tensor& x, const Normalise& normalise) {
  const DType compute = info(x.dtype()).compute;
  return to_dtype(normalise(to_dtype(x, compute)), x.dtype());
}

// A parameter as wide as a wide x; beside a narrow one kernels take it as it is.
Tensor to_compute(const Tensor& parameter, const Tensor& x) {
  const bool is_wide = info(x.dtype()).compute == x.dtype();
  return parameter.defined() && is_wide ? to_dtype(parameter, x.dtype()) : parameter;
}

// By a kernel of its own; undefined where the backend has none for it.
Tensor group_norm_at_once(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                          double eps) {
  if (x.numel() == 0 || is_channels_last(x)) return Tensor();
  const GroupNorm of(x, groups, eps);
  const Tensor y = normalise_at_once(x, weight, bias, of);
  return y.defined() ? recorded(y, {x, weight, bias}, of) : y;
}

Tensor group_norm_by_steps(const Tensor& x, int64_t groups, const Tensor& weight,
                           const Tensor& bias, double eps) {
  if (x.numel() == 0) return group_norm_composition({x, weight, bias}, groups, eps);
  const GroupNorm of(x, groups, eps);
  find_statistics(x, of);
  const Tensor y = normalise(is_channels_last(x) ? x : contiguous(x), weight, bias, of);
  return recorded(y, {x, weight, bias}, of);
}

// A vector of the channels for each image.
Tensor repeated(const Tensor& parameter, int64_t batch) {
  return parameter.defined() ? repeat(parameter, {batch}) : parameter;
}

// What the images' statistics have become, on average.
void store_average(const Tensor& running, const Tensor& of_images, int64_t batch) {
  const GradMode no_grad(false);
  copy_(running, mean(reshape(of_images, {batch, running.numel()}), {{0}}));
}

}  // namespace

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check_group_norm(input, num_groups, weight, bias);
  const Tensor given = group_norm_at_once(input, num_groups, weight, bias, eps);
  if (given.defined()) return given;
  const Tensor y = widened(input, [&](const Tensor& x) {
    const Tensor factors = to_compute(weight, x), terms = to_compute(bias, x);
    Tensor wide;  // some kernels are for that alone
    if (!x.is_same(input)) wide = group_norm_at_once(x, num_groups, factors, terms, eps);
    return wide.defined() ? wide : group_norm_by_steps(x, num_groups, factors, terms, eps);
  });
  return unsafe_view(y, y.sizes());
}

Tensor instance_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                     const Tensor& weight, const Tensor& bias, bool use_input_stats,
                     double momentum, double eps) {
  check_instance_norm(input, running_mean, running_var, weight, bias, use_input_stats);
  if (input.numel() == 0)
    return scale_and_shift(clone(input), repeated(weight, 1), repeated(bias, 1),
                           GroupNorm::shape_of(input, 1));
  const int64_t batch = input.size(0);
  Dims sizes = input.sizes();
  sizes[0] = 1, sizes[1] = batch * input.size(1);
  Tensor mean, var;
  const auto normalise_images = [&](const Tensor& x) {
    const auto of_images = [&](const Tensor& p) { return to_compute(repeated(p, batch), x); };
    mean = of_images(running_mean), var = of_images(running_var);
    return batch_norm_of_any_eps(reshape(contiguous(x), sizes), mean, var, of_images(weight),
                                 of_images(bias), use_input_stats, momentum, eps);
  };
  // Running statistics of a narrow input are averages of what is not narrow.
  const bool are_running = running_mean.defined() || running_var.defined();
  const Tensor y = are_running ? widened(input, normalise_images) : normalise_images(input);
  if (use_input_stats && running_mean.defined()) store_average(running_mean, mean, batch);
  if (use_input_stats && running_var.defined()) store_average(running_var, var, batch);
  return reshape(y, input.sizes());
}

// The mean of neighbouring channels' squares is that of windows over [batch, 1, channels, ...].
Tensor local_response_norm(const Tensor& given, int64_t size, double alpha, double beta, double k) {
  check_local_response_norm(given, size);
  const Tensor input = given.ndim() == 3 ? given : cast_on_cpu(given);  // by avg_pool3d
  if (input.numel() == 0) return input;
  const int64_t batch = input.size(0), channels = input.size(1);
  const Tensor squares =
      reshape(square(input), {batch, 1, channels, input.numel() / (batch * channels)});
  const Tensor means = avg_pool2d(squares, {size, 1}, {{1, 1}}, {size / 2, 0});
  const Tensor near = reshape(narrow(means, 2, 0, channels), input.sizes());
  return input / pow(near * alpha + k, beta);
}

}  // namespace dt
