// Normalisation of channels.
#include <cmath>
#include <limits>

#include "core/autograd/fused.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/nn/normalisation.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_activation.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/checks.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"
#include "kernels/channel_order.h"

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
  // The mean is nearly taken away already when what is left of it is found: of equal elements
  // nothing.
  const Tensor around = x - to_dtype(reshape(bn.mean, shape), x.dtype());
  const Tensor centered = around - mean(around, IntList(dims), true);
  const Tensor variance = mean(square(centered), IntList(dims), true);
  if (bn.eps != 0) return scale_and_shift(centered / sqrt(variance + bn.eps), in[1], in[2], shape);
  // Nothing is left of equal elements, though nothing is added to what they are divided by.
  const Tensor equal = eq(variance, 0);
  const Tensor factor = masked_fill(rsqrt(masked_fill(variance, equal, 1)), equal, 0);
  return scale_and_shift(centered * factor, in[1], in[2], shape);
}

// The gradients of input, weight and bias that are wanted, for either kernel to write.
void make_gradients(BackwardCall& b, const std::vector<Tensor>& in) {
  make_wanted(b, in, 1);
  if (!b.wants(0)) return;
  const Tensor& x = in[0];
  b.results[0] = make_empty_strided(x.sizes(), format_strides(x, MemoryFormat::kPreserve),
                                    x.dtype(), x.device());
  if (!channels_view(b.results[0])) b.results[0] = make_empty(x.sizes(), x.dtype(), x.device());
}

// What both kernels take.
template <class Call>
void fill_backward(Call& call, const BackwardCall& b, const std::vector<Tensor>& in,
                   const BatchNorm& bn, const Tensor& g) {
  if (b.wants(0)) call.gx = *channels_view(b.results[0]);
  call.gweight = b.results[1];
  call.gbias = b.results[2];
  call.g = *channels_view(g);
  call.x = *channels_view(in[0]);
  call.mean = bn.mean;
  call.rstd = bn.rstd;
  call.weight = in[1];
  call.training = bn.training;
}

void batch_norm_backward(const BackwardCall& b, const Tensor& grad, const std::vector<Tensor>& in,
                         const BatchNorm& bn) {
  const Tensor g = with_channels_view(grad);
  BatchNormBackwardCall call;
  fill_backward(call, b, in, bn, g);
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

int64_t elements_of_channel(const Tensor& x) {
  return x.numel() / x.size(1);
}

// running = (1 - momentum) * running + momentum * new, the new variance being the unbiased one.
void update_running(const Tensor& running_mean, const Tensor& running_var, const BatchNorm& bn,
                    int64_t per_channel, double momentum) {
  const GradMode no_grad(false);
  const double unbias = double(per_channel) / (per_channel - 1);
  running_average_(running_mean, bn.mean, 1 - momentum, momentum);
  running_variance_(running_var, bn.rstd, 1 - momentum, momentum * unbias, bn.eps);
}

// The operands as kernels take them, and what these write.
struct Normalising {
  Tensor x, weight, bias, running_mean, running_var;
  Tensor y;
  BatchNorm bn;

  Normalising(const Tensor& input, const Tensor& mean, const Tensor& var, const Tensor& w,
              const Tensor& b, bool training, double eps)
      : x(with_channels_view(input)),
        weight(optional_contiguous(w)),
        bias(optional_contiguous(b)),
        running_mean(optional_contiguous(mean)),
        running_var(optional_contiguous(var)) {
    const bool last = !input.is_contiguous() &&
                      (input.is_contiguous(MemoryFormat::kChannelsLast) || is_channels_last(input));
    y = make_empty_strided(x.sizes(),
                           last ? channels_last_strides(x.sizes()) : contiguous_strides(x.sizes()),
                           x.dtype(), x.device());
    const Dims channels{x.size(1)};
    const DType compute = info(x.dtype()).compute;
    bn = {training, eps, make_empty(channels, compute, x.device()),
          make_empty(channels, compute, x.device())};
  }

  template <class Call>
  void fill(Call& call) const {
    call.y = *channels_view(y);
    call.mean = bn.mean;
    call.rstd = bn.rstd;
    call.x = *channels_view(x);
    call.weight = weight;
    call.bias = bias;
    call.running_mean = running_mean;
    call.running_var = running_var;
    call.training = bn.training;
    call.eps = bn.eps;
  }
};

void normalise(const Normalising& n) {
  BatchNormCall call;
  n.fill(call);
  run(op::batch_norm, call);
}

// ---- with an addend and a relu behind it

// Of min(relu(x), limit); the limit may be infinity.
Tensor limited_relu_(const Tensor& x, double limit) {
  return std::isinf(limit) ? relu_(x) : hardtanh_(x, 0, limit);
}

// Whether y + addend has the shape and dtype of y.
bool may_take(const Tensor& y, const Tensor& addend) {
  return addend.sizes() == y.sizes() && addend.dtype() == y.dtype();
}

// What a gradient of the kernel's result reads: a bit of each element. The packets that a byte
// stands for lie along the channels, or along the positions of a channel, whose last packet may
// have fewer elements. All of it is as the kernel met it: an input is widened to be differentiated.
struct Passed {
  Tensor flags;  // undefined if there will be no backward
  int64_t packet = 0;
  bool columns = false;

  static Passed make(const Tensor& x) {
    const View view = *channels_view(x);
    const bool columns = has_columns(view);
    const int64_t packet = 16 / x.item_bytes(), run = view.sizes[columns ? 1 : 2];
    const int64_t packets = (run + packet - 1) / packet;
    return {make_empty({x.numel() / run * packets}, kByteDType, x.device()), packet, columns};
  }
  // Which elements of x have a gradient.
  Tensor mask(const Tensor& x) const {
    const GradMode no_grad(false);
    const int64_t n = x.size(0), c = x.size(1), l = x.numel() / (n * c);
    const Tensor bits = arange(0, packet, 1, kByteDType, flags.device());
    const Tensor each = bitwise_and(bitwise_right_shift(unsqueeze(flags, 1), bits), 1);
    const Tensor runs = reshape(each, {n, columns ? l : c, -1});
    const Tensor walked = narrow(runs, 2, 0, columns ? c : l);
    return ne(reshape(columns ? transpose(walked, 1, 2) : walked, x.sizes()), 0);
  }
};

// By a kernel, or by what the ops do in turn. `in`: input, weight, bias and addend.
void batch_norm_relu_backward(BackwardCall& b, const std::vector<Tensor>& in, const BatchNorm& bn,
                              const Passed& passed) {
  const Tensor g = with_channels_view(b.grad());
  make_gradients(b, in);
  if (b.wants(0)) {
    BatchNormReluBackwardCall call;
    fill_backward(call, b, in, bn, g);
    Tensor gaddend;
    if (b.wants(3)) {
      gaddend = make_empty_strided(g.sizes(), b.results[0].strides(), g.dtype(), g.device());
      call.gaddend = *channels_view(gaddend);
    }
    call.flags = passed.flags;
    const bool has_kernel = run_shortcut(op::batch_norm_relu_backward, call);
    if (b.wants(3)) b.results[3] = gaddend;
    if (has_kernel) return;
  }
  const Tensor passing = where(passed.mask(in[0]), g, 0);
  if (b.wants(3)) b.results[3] = passing;
  batch_norm_backward(b, passing, in, bn);
}

// Undefined if the device has no kernel for it.
Tensor batch_norm_relu_by_kernel(const Normalising& n, const Tensor& addend, double limit) {
  if (addend.defined() && !(may_take(n.y, addend) && channels_view(addend))) return Tensor();
  const bool has_backward = needs_graph({n.x, n.weight, n.bias, addend});
  const Passed passed = has_backward ? Passed::make(n.x) : Passed();
  BatchNormReluCall call;
  n.fill(call);
  if (addend.defined()) call.addend = *channels_view(addend);
  call.flags = passed.flags;
  call.limit = limit;
  if (!run_shortcut(op::batch_norm_relu, call)) return Tensor();
  if (!has_backward) return n.y;
  return fused(
      std::isinf(limit) ? "ReluBackward0" : "HardtanhBackward0", n.y,
      {n.x, n.weight, n.bias, addend},
      {Saved::input(n.x), Saved::input(n.weight), Saved::place(n.bias), Saved::place(addend)},
      [bn = n.bn, passed](const std::vector<Tensor>& in) {
        const Tensor y = batch_norm_composition(in, bn);
        // Of relu's result its derivative sees only which elements are positive: those that passed.
        const Tensor flags = to_dtype(passed.mask(in[0]), y.dtype());
        return relu(alias_with(in[3].defined() ? add(y, in[3]) : y, flags));
      },
      [bn = n.bn, passed](BackwardCall& b, const std::vector<Tensor>& in) {
        batch_norm_relu_backward(b, in, bn, passed);
      });
}

}  // namespace

Tensor batch_norm_of_any_eps(const Tensor& input, const Tensor& running_mean,
                             const Tensor& running_var, const Tensor& weight, const Tensor& bias,
                             bool training, double momentum, double eps) {
  check_batch_norm(input, running_mean, running_var, weight, bias, training);
  if (input.numel() == 0) return batch_norm_of_nothing(input, weight, bias);
  const Normalising n(input, running_mean, running_var, weight, bias, training, eps);
  normalise(n);
  if (training && running_mean.defined())
    update_running(running_mean, running_var, n.bn, elements_of_channel(n.x), momentum);
  if (!needs_graph({n.x, n.weight, n.bias})) return n.y;
  return fused(
      "NativeBatchNormBackward0", n.y, {n.x, n.weight, n.bias},
      {Saved::input(n.x), Saved::input(n.weight), Saved::place(n.bias)},
      [bn = n.bn](const std::vector<Tensor>& in) { return batch_norm_composition(in, bn); },
      [bn = n.bn](BackwardCall& b, const std::vector<Tensor>& in) {
        make_gradients(b, in);
        batch_norm_backward(b, b.grad(), in, bn);
      });
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  check_batch_norm_eps(training, eps);
  return batch_norm_of_any_eps(input, running_mean, running_var, weight, bias, training, momentum,
                               eps);
}

Tensor batch_norm_relu(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                       const Tensor& weight, const Tensor& bias, bool training, double momentum,
                       double eps, const Tensor& addend, std::optional<double> limit) {
  check_batch_norm_eps(training, eps);
  check_batch_norm(input, running_mean, running_var, weight, bias, training);
  const double most = limit.value_or(std::numeric_limits<double>::infinity());
  check_relu_limit(most);
  if (input.numel() > 0) {
    const Normalising n(input, running_mean, running_var, weight, bias, training, eps);
    const Tensor y = batch_norm_relu_by_kernel(n, addend, most);
    if (y.defined()) {
      if (training && running_mean.defined())
        update_running(running_mean, running_var, n.bn, elements_of_channel(n.x), momentum);
      return y;
    }
  }
  Tensor y = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps);
  if (addend.defined()) y = may_take(y, addend) ? add_(y, addend) : add(y, addend);
  return limited_relu_(y, most);
}

}  // namespace dt
