// Normalisation. Forward and backward are one fused kernel each; the composition of plain ops next
// to them is what they mean, and serves when a graph of the backward is built.
#include "core/autograd/fused.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/nn.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"

namespace dt {
namespace {

Tensor optional_contiguous(const Tensor& x) {
  return x.defined() ? contiguous(x) : x;
}

// The result's dtype is the input's, and parameters must have it too, or that in which it is
// calculated.
void check_parameter_dtype(const Tensor& x, const Tensor& parameter) {
  if (!parameter.defined() || parameter.dtype() == x.dtype()) return;
  if (is_floating(x.dtype()) && parameter.dtype() == info(x.dtype()).compute) return;
  fail(Code::kRuntimeError, "mixed dtype (CPU): ",
       parameter.dtype() == kDTypeOf<float> ? "all inputs must share same datatype."
                                            : "expect parameter to have scalar type of Float");
}

// x * weight + bias, where given, in the shape that broadcasts with x.
Tensor scale_and_shift(Tensor x, const Tensor& weight, const Tensor& bias, IntList shape) {
  if (weight.defined()) x = x * reshape(weight, shape);
  if (bias.defined()) x = x + reshape(bias, shape);
  return x;
}

// The gradients of input, weight and bias that backward asks for, for a kernel to write.
void make_wanted(BackwardCall& b, const std::vector<Tensor>& inputs) {
  for (int i = 0; i < 3; ++i) {
    const Tensor& x = inputs[i];
    if (b.wants(i)) b.results[i] = make_empty(x.sizes(), x.dtype(), x.device());
  }
}

// ---- layer_norm

// x as a matrix whose rows are normalised.
View rows_view(const Tensor& x, int64_t rows, int64_t n) {
  return View(x, {rows, n}, {n, 1}, x.offset());
}

Tensor layer_norm_composition(const std::vector<Tensor>& in, const Dims& shape, double eps) {
  Dims dims;
  for (int d = -shape.size(); d < 0; ++d) dims.push_back(d);
  const Tensor centered = in[0] - mean(in[0], IntList(dims), true);
  const Tensor variance = mean(square(centered), IntList(dims), true);
  return scale_and_shift(centered * rsqrt(variance + eps), in[1], in[2], shape);
}

void check_layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight,
                      const Tensor& bias) {
  DT_CHECK(!shape.empty(), kRuntimeError,
           "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
           "element, but got "
           "normalized_shape = ",
           shape);
  DT_CHECK(!weight.defined() || weight.sizes() == shape, kRuntimeError,
           "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
           weight.sizes(), " and normalized_shape = ", shape);
  DT_CHECK(!bias.defined() || bias.sizes() == shape, kRuntimeError,
           "Expected bias to be of same shape as normalized_shape, but got bias of shape ",
           bias.sizes(), " and normalized_shape = ", shape);
  const int lead = x.ndim() - shape.size();
  const bool fits = lead >= 0 && IntList(x.sizes().data() + lead, shape.size()) == IntList(shape);
  std::string wanted = "[*";
  for (int64_t n : shape) wanted += text(", ", n);
  DT_CHECK(fits, kRuntimeError, "Given normalized_shape=", shape, ", expected input with shape ",
           wanted, "], but got input of size", x.sizes());
  check_parameter_dtype(x, weight);
  check_parameter_dtype(x, bias);
  check_floating(x, "LayerNormKernelImpl");
}

// ---- batch_norm

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
    return scale_and_shift((x - reshape(bn.mean, shape)) * reshape(bn.rstd, shape), in[1], in[2],
                           shape);
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

void check_channels(const char* name, const Tensor& parameter, int64_t channels) {
  DT_CHECK(!parameter.defined() || parameter.numel() == channels, kRuntimeError, name,
           " should contain ", channels, " elements not ", parameter.numel());
}

void check_batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                      const Tensor& weight, const Tensor& bias, bool training, double eps) {
  DT_CHECK(x.ndim() >= 2, kRuntimeError, "expected at least 2D input (got ", x.ndim(), "D input)");
  DT_CHECK(running_mean.defined() == running_var.defined() || !training, kValueError,
           "running_mean and running_var must either both be None or neither be None");
  DT_CHECK(running_mean.defined() || training, kRuntimeError,
           "running_mean must be defined in evaluation mode");
  DT_CHECK(running_var.defined() || training, kRuntimeError,
           "running_var must be defined in evaluation mode");
  const int64_t channels = x.size(1);
  check_channels("running_mean", running_mean, channels);
  check_channels("running_var", running_var, channels);
  check_channels("weight", weight, channels);
  check_channels("bias", bias, channels);
  int64_t per_channel = x.size(0);
  for (int d = 2; d < x.ndim(); ++d) per_channel *= x.size(d);
  DT_CHECK(!training || per_channel != 1, kValueError,
           "Expected more than 1 value per channel when training, got input size ", x.sizes());
  DT_CHECK(!training || eps > 0, kValueError,
           "batch_norm eps must be positive during training, but got ", eps);
  if (x.numel() == 0) return;  // of any dtype, like PyTorch
  check_constant(running_mean, "native_batch_norm", "running_mean");
  check_constant(running_var, "native_batch_norm", "running_var");
  check_floating(x, "batch_norm");
  for (const Tensor* p : {&running_mean, &running_var, &weight, &bias})
    check_parameter_dtype(x, *p);
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
  // Rounding may leave a little less than nothing of a variance of 0.
  const Tensor variance = clamp_min(reciprocal(square(bn.rstd)) - bn.eps, 0);
  add_(mul_(running_mean, 1 - momentum), bn.mean, momentum);
  add_(mul_(running_var, 1 - momentum), variance, momentum * unbias);
}

}  // namespace

Tensor layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const Dims shape = normalized_shape;
  check_layer_norm(input, shape, weight, bias);
  const Tensor x = contiguous(input);
  const int64_t n = count_elements(shape);
  const int64_t rows = count_elements(IntList(x.sizes().data(), x.ndim() - shape.size()));
  const Tensor w = optional_contiguous(weight), b = optional_contiguous(bias);
  const Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  const DType compute = info(x.dtype()).compute;
  const Tensor mean = make_empty({rows}, compute, x.device()),
               rstd = make_empty({rows}, compute, x.device());
  const auto vector = [n](const Tensor& p) {
    return p.defined() ? View(p, {n}, {1}, p.offset()) : View();
  };
  LayerNormCall call;
  call.y = rows_view(y, rows, n);
  call.mean = mean;
  call.rstd = rstd;
  call.x = rows_view(x, rows, n);
  call.weight = vector(w);
  call.bias = vector(b);
  call.eps = eps;
  run(op::layer_norm, call);
  if (!needs_graph({x, w, b})) return y;
  return fused(
      "NativeLayerNormBackward0", y, {x, w, b}, {Saved::input(x), Saved::input(w), Saved::place(b)},
      [shape, eps](const std::vector<Tensor>& in) {
        return layer_norm_composition(in, shape, eps);
      },
      [rows, n, mean, rstd, vector](BackwardCall& b, const std::vector<Tensor>& in) {
        make_wanted(b, in);
        const Tensor g = contiguous(b.grad());
        LayerNormBackwardCall call;
        if (b.wants(0)) call.gx = rows_view(b.results[0], rows, n);
        call.gweight = vector(b.results[1]);
        call.gbias = vector(b.results[2]);
        call.g = rows_view(g, rows, n);
        call.x = rows_view(in[0], rows, n);
        call.mean = mean;
        call.rstd = rstd;
        call.weight = vector(in[1]);
        run(op::layer_norm_backward, call);
      });
}

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
  const BatchNorm bn{training, eps, make_empty(channels, x.dtype(), x.device()),
                     make_empty(channels, x.dtype(), x.device())};
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
