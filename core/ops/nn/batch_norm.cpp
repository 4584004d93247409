// Normalisation of channels.
#include "core/autograd/fused.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/nn/normalisation.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/checks.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"

namespace dt {
namespace {

Dims channel_shape(const Tensor& x) {
  Dims shape(x.ndim(), 1);
  shape[1] = x.size(1);
  return shape;
}

// x as [batch, channels, positions], or nullopt if the positions are not one walk through memory.
// Without elements there is nothing to walk, and any strides count as contiguous.
std::optional<View> channels_view(const Tensor& x) {
  int64_t positions = 1, stride = 1;
  for (int d = x.ndim() - 1; d >= 2; --d) {
    const int64_t n = x.sizes()[d];
    if (n == 1) continue;
    if (positions == 1)
      stride = x.strides()[d];
    else if (x.strides()[d] != positions * stride && x.numel() > 0)
      return std::nullopt;
    positions *= n;
  }
  return View(x, {x.sizes()[0], x.sizes()[1], positions}, {x.strides()[0], x.strides()[1], stride},
              x.offset());
}

// x, or a copy of it that channels_view can show.
Tensor with_channels_view(const Tensor& x) {
  return channels_view(x) ? x : contiguous(x);
}

struct BatchNorm {
  bool training;
  double eps;
  Tensor mean, rstd;  // what the forward used, per channel
};

// In training the statistics are functions of x, else they are numbers.
Tensor batch_norm_composition(const std::vector<Tensor>& in, const BatchNorm& bn) {
  const Tensor& x = in[0];
  const Dims shape = channel_shape(x);
  if (!bn.training) {
    const Tensor mean = to_dtype(reshape(bn.mean, shape), x.dtype()),
                 rstd = to_dtype(reshape(bn.rstd, shape), x.dtype());
    return scale_and_shift((x - mean) * rstd, in[1], in[2], shape);
  }
  Dims dims{0};
  for (int d = 2; d < x.ndim(); ++d) dims.push_back(d);
  const Tensor centered = x - mean(x, IntList(dims), true);
  const Tensor variance = mean(square(centered), IntList(dims), true);
  return scale_and_shift(centered * rsqrt(variance + bn.eps), in[1], in[2], shape);
}

void batch_norm_backward(BackwardCall& b, const std::vector<Tensor>& in, const BatchNorm& bn) {
  const Tensor g = with_channels_view(b.grad());
  make_wanted(b, in);
  BatchNormBackwardCall call;
  if (b.wants(0)) {
    b.results[0] = make_empty_strided(in[0].sizes(), format_strides(in[0], MemoryFormat::kPreserve),
                                      in[0].dtype(), in[0].device());
    if (!channels_view(b.results[0]))
      b.results[0] = make_empty(in[0].sizes(), in[0].dtype(), in[0].device());
    call.gx = *channels_view(b.results[0]);
  }
  call.gweight = b.results[1];
  call.gbias = b.results[2];
  call.g = *channels_view(g);
  call.x = *channels_view(in[0]);
  call.mean = bn.mean;
  call.rstd = bn.rstd;
  call.weight = in[1];
  call.training = bn.training;
  run(op::batch_norm_backward, call);
}

// An input without elements takes part in nothing but the parameters' types and graphs. PyTorch
// looks at their first element, and so refuses those of no channels.
Tensor batch_norm_of_nothing(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor y = clone(x);
  if (weight.defined()) y = mul(y, select(weight, 0, 0));
  if (bias.defined()) y = add(y, select(bias, 0, 0));
  return y;
}

// running = (1 - momentum) * running + momentum * new, the new variance being the unbiased one.
void update_running(const Tensor& running_mean, const Tensor& running_var, const BatchNorm& bn,
                    int64_t per_channel, double momentum) {
  const GradMode no_grad(false);
  const double unbias = double(per_channel) / (per_channel - 1);
  running_average_(running_mean, bn.mean, 1 - momentum, momentum);
  running_variance_(running_var, bn.rstd, 1 - momentum, momentum * unbias, bn.eps);
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  check_batch_norm(input, running_mean, running_var, weight, bias, training, eps);
  if (input.numel() == 0) return batch_norm_of_nothing(input, weight, bias);
  const Tensor x = with_channels_view(input), w = optional_contiguous(weight),
               b = optional_contiguous(bias);
  const Tensor y = make_empty_strided(
      x.sizes(),
      is_channels_last(x) ? channels_last_strides(x.sizes()) : contiguous_strides(x.sizes()),
      x.dtype(), x.device());
  const Dims channels{x.size(1)};
  const DType compute = info(x.dtype()).compute;
  const BatchNorm bn{training, eps, make_empty(channels, compute, x.device()),
                     make_empty(channels, compute, x.device())};
  const Tensor old_mean = optional_contiguous(running_mean),
               old_var = optional_contiguous(running_var);
  BatchNormCall call;
  call.y = *channels_view(y);
  call.mean = bn.mean;
  call.rstd = bn.rstd;
  call.x = *channels_view(x);
  call.weight = w;
  call.bias = b;
  call.running_mean = old_mean;
  call.running_var = old_var;
  call.training = training;
  call.eps = eps;
  run(op::batch_norm, call);
  if (training && running_mean.defined()) {
    update_running(running_mean, running_var, bn, x.numel() / x.size(1), momentum);
  }
  if (!needs_graph({x, w, b})) return y;
  return fused(
      "NativeBatchNormBackward0", y, {x, w, b}, {Saved::input(x), Saved::input(w), Saved::place(b)},
      [bn](const std::vector<Tensor>& in) { return batch_norm_composition(in, bn); },
      [bn](BackwardCall& call, const std::vector<Tensor>& in) {
        batch_norm_backward(call, in, bn);
      });
}

}  // namespace dt
