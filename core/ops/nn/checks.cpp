#include "core/ops/nn/checks.h"

#include <cmath>

#include "core/ops/checks.h"

namespace dt {

void check_int_pair(const char* name, IntList values) {
  DT_CHECK(values.size() == 1 || values.size() == 2, kRuntimeError, "expected ", name,
           " to be a single integer value or a list of 2 values to match the convolution "
           "dimensions, but got ",
           name, "=", values);
  for (int64_t v : values) {  // so that no sum or product of two of them overflows
    DT_CHECK(v >= INT32_MIN && v <= INT32_MAX, kRuntimeError, name, "=", values,
             ": integer out of range");
  }
}

void check_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  DT_CHECK(input.ndim() > 0 && weight.ndim() > 0, kRuntimeError,
           "both arguments to linear need to be at least 1D, but they are ", input.ndim(), "D and ",
           weight.ndim(), "D");
  DT_CHECK(weight.ndim() <= 2, kRuntimeError,
           "t() expects a tensor with <= 2 dimensions, but self is ", weight.ndim(), "D");
  const bool is_sum = !bias.defined() || (bias.ndim() == 0 && input.ndim() != 2);
  DT_CHECK(weight.ndim() != 1 || is_sum, kRuntimeError, "mat2 must be a matrix, got 1-D tensor");
}

// ---- convolution

void check_conv_ranks(const Tensor& input, const Tensor& weight) {
  DT_CHECK(input.ndim() == 3 || input.ndim() == 4, kRuntimeError,
           "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: ",
           input.sizes());
  DT_CHECK(weight.ndim() == 4, kRuntimeError,
           "expected weight to be 4-dimensional, but got weight of size ", weight.sizes(),
           " instead");
}

namespace {

void check_conv_geometry(const Window& w, int64_t groups) {
  DT_CHECK(groups > 0, kRuntimeError, "non-positive groups is not supported");
  DT_CHECK(w.padding[0] >= 0 && w.padding[1] >= 0, kRuntimeError,
           "negative padding is not supported");
  DT_CHECK(w.stride[0] > 0 && w.stride[1] > 0, kRuntimeError,
           "non-positive stride is not supported");
  DT_CHECK(w.dilation[0] > 0 && w.dilation[1] > 0, kRuntimeError,
           "dilation should be greater than zero, but got ", IntList(w.dilation.data(), 2));
}

void check_conv_shapes(const Tensor& x, const Tensor& weight, const Tensor& bias, const Window& w,
                       int64_t groups) {
  const int64_t outputs = weight.sizes()[0];
  DT_CHECK(outputs >= groups, kRuntimeError, "Given groups=", groups,
           ", expected weight to be at least ", groups, " at dimension 0, but got weight of size ",
           weight.sizes(), " instead");
  DT_CHECK(outputs % groups == 0, kRuntimeError, "Given groups=", groups,
           ", expected weight to be divisible by ", groups,
           " at dimension 0, but got weight of size [", weight.sizes(), "] instead");
  const int64_t channels = weight.sizes()[1] * groups;
  DT_CHECK(weight.sizes()[2] > 0 && weight.sizes()[3] > 0, kRuntimeError,
           "kernel size should be greater than zero, but got kernel_height: ", weight.sizes()[2],
           " kernel_width: ", weight.sizes()[3]);
  DT_CHECK(x.sizes()[1] == channels, kRuntimeError, "Given groups=", groups, ", weight of size ",
           weight.sizes(), ", expected input", x.sizes(), " to have ", channels,
           " channels, but got ", x.sizes()[1], " channels instead");
  DT_CHECK(!bias.defined() || (bias.ndim() == 1 && bias.numel() == outputs), kRuntimeError,
           "Given weight of size ", weight.sizes(), ", expected bias to be 1-dimensional with ",
           outputs, " elements, but got bias of size ", bias.sizes(), " instead");
  const int64_t padded[] = {x.sizes()[2] + 2 * w.padding[0], x.sizes()[3] + 2 * w.padding[1]};
  DT_CHECK(padded[0] >= w.extent(0) && padded[1] >= w.extent(1), kRuntimeError,
           "Calculated padded input size per channel: (", padded[0], " x ", padded[1],
           "). Kernel size: (", w.extent(0), " x ", w.extent(1),
           "). Kernel size can't be greater than actual input size");
  DT_CHECK(
      x.sizes()[2] > 0 && x.sizes()[3] > 0, kRuntimeError,
      "Only zero batch or zero channel inputs are supported, but got input shape: ", x.sizes());
}

void check_conv_dtypes(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  DT_CHECK(!is_bool(x.dtype()) || x.numel() == 0, kNotImplemented,
           "\"slow_conv2d_cpu\" not implemented for 'Bool'");
  DT_CHECK(x.dtype() == weight.dtype(), kRuntimeError, "expected scalar type ",
           type_word(x.dtype()), " but found ", type_word(weight.dtype()));
  DT_CHECK(!bias.defined() || bias.dtype() == x.dtype(), kRuntimeError, "Input type (",
           c_type_word(x.dtype()), ") and bias type (", c_type_word(bias.dtype()),
           ") should be the same");
}

}  // namespace

void check_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const Window& window,
                int64_t groups) {
  check_conv_geometry(window, groups);
  check_conv_shapes(x, weight, bias, window, groups);
  check_conv_dtypes(x, weight, bias);
}

void check_conv_padding(const std::string& padding) {
  DT_CHECK(padding == "same" || padding == "valid", kRuntimeError, "Invalid padding string: '",
           padding, "'");
}

void check_same_padding(const IntPair& stride) {
  DT_CHECK(stride[0] == 1 && stride[1] == 1, kRuntimeError,
           "padding='same' is not supported for strided convolutions");
}

// ---- pooling

void check_pool_rank(const Tensor& input) {
  DT_CHECK(input.ndim() == 3 || input.ndim() == 4, kRuntimeError,
           "non-empty 3D or 4D (batch mode) tensor expected for input");
}

void check_pool_divisor(std::optional<int64_t> divisor) {
  DT_CHECK(!divisor || *divisor != 0, kRuntimeError, "divisor must be not zero");
}

void check_pool_window(const Window& w) {
  for (int d = 0; d < 2; ++d) {
    DT_CHECK(w.stride[d] != 0, kRuntimeError, "stride should not be zero");
    DT_CHECK(w.size[d] > 0 && w.stride[d] > 0, kRuntimeError,
             "kernel size and stride should be greater than zero, but got kernel_size=", w.size[d],
             " and stride=", w.stride[d]);
    DT_CHECK(w.dilation[d] > 0, kRuntimeError,
             "dilation should be greater than zero, but got dilationH: ", w.dilation[0],
             " dilationW: ", w.dilation[1]);
    DT_CHECK(w.padding[d] >= 0, kRuntimeError,
             "pad must be non-negative, but got pad: ", w.padding[d]);
    DT_CHECK(w.padding[d] <= w.extent(d) / 2, kRuntimeError,
             "pad should be at most half of effective kernel size, but got pad=", w.padding[d],
             ", kernel_size=", w.size[d], " and dilation=", w.dilation[d]);
  }
  // Of dilated windows too: then each has a tap inside the image.
  DT_CHECK(w.padding[0] <= w.size[0] / 2 && w.padding[1] <= w.size[1] / 2, kRuntimeError,
           "pad should be smaller than or equal to half of kernel size, but got padW = ",
           w.padding[1], ", padH = ", w.padding[0], ", kW = ", w.size[1], ", kH = ", w.size[0]);
}

namespace {

void check_images(const Tensor& x, const Dims& sizes) {
  const Dims& n = x.sizes();
  DT_CHECK(
      n[1] > 0 && n[2] > 0 && n[3] > 0, kRuntimeError,
      "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:",
      n);
  DT_CHECK(sizes[2] > 0 && sizes[3] > 0, kRuntimeError, "Given input size: (", n[1], "x", n[2], "x",
           n[3], "). Calculated output size: (", n[1], "x", sizes[2], "x", sizes[3],
           "). Output size is too small");
}

}  // namespace

void check_max_pool(const Tensor& x, const Dims& sizes) {
  check_images(x, sizes);
  DT_CHECK(!is_bool(x.dtype()), kNotImplemented, "\"max_pool2d\" not implemented for 'Bool'");
}

void check_avg_pool(const Tensor& x, const Dims& sizes) {
  check_images(x, sizes);
  check_floating(x, "avg_pool2d");
}

// ---- interpolation

void check_interpolate(const Tensor& input) {
  const int n = input.ndim();
  DT_CHECK(n >= 3 && n <= 5, kNotImplemented,
           "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", n,
           "D) for the modes: nearest | nearest-exact");
  DT_CHECK(input.size(1) > 0, kRuntimeError, "Non-empty ", n,
           "D data tensor expected but got a tensor with sizes ", input.sizes());
  DT_CHECK(is_floating(input.dtype()) || input.dtype() == kByteDType, kNotImplemented,
           "\"upsample_nearest", n - 2, "d\" not implemented for '", type_word(input.dtype()), "'");
}

namespace {

// One number stands for all spatial dimensions.
void check_spatial_count(const Tensor& x, int64_t given, const char* what) {
  const int spatial = x.ndim() - 2;
  DT_CHECK(given == 1 || given == spatial, kValueError, "Input and ", what,
           " must have the same number of spatial dimensions, but got input with spatial "
           "dimensions of ",
           IntList(x.sizes().begin() + 2, spatial), " and ", given, " numbers");
}

}  // namespace

void check_resize_counts(const Tensor& x, std::optional<int64_t> sizes,
                         std::optional<int64_t> factors) {
  DT_CHECK(sizes || factors, kValueError, "either size or scale_factor should be defined");
  DT_CHECK(!sizes || !factors, kValueError, "only one of size or scale_factor should be defined");
  if (sizes) check_spatial_count(x, *sizes, "output");
  if (factors) check_spatial_count(x, *factors, "scale_factor");
}

void check_scaled_size(double size) {
  DT_CHECK(std::abs(size) < 9e18, kRuntimeError,
           "value cannot be converted to type int64_t without overflow");
}

void check_resize(int64_t from, int64_t to, int dim) {
  DT_CHECK(from > 0 && to > 0, kRuntimeError,
           "Input and output sizes should be greater than 0, but got input ", from, " and output ",
           to, " at dimension ", dim);
}

// ---- normalisation

namespace {

// The result's dtype is the input's, and parameters must have it too, or that in which it is
// calculated.
void check_parameter_dtype(const Tensor& x, const Tensor& parameter) {
  if (!parameter.defined() || parameter.dtype() == x.dtype()) return;
  if (is_floating(x.dtype()) && parameter.dtype() == info(x.dtype()).compute) return;
  fail(Code::kRuntimeError, "mixed dtype (CPU): ",
       parameter.dtype() == kDTypeOf<float> ? "all inputs must share same datatype."
                                            : "expect parameter to have scalar type of Float");
}

void check_channels(const char* name, const Tensor& parameter, int64_t channels) {
  DT_CHECK(!parameter.defined() || parameter.numel() == channels, kRuntimeError, name,
           " should contain ", channels, " elements not ", parameter.numel());
}

}  // namespace

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

// ---- others

void check_softmax(const Tensor& x, const char* kernel, int dim) {
  DT_CHECK(is_floating(x.dtype()), kNotImplemented, "\"", kernel,
           dim >= x.ndim() - 1 ? "_lastdim" : "", "_kernel_impl\" not implemented for '",
           type_word(x.dtype()), "'");
}

void check_dropout_probability(double p) {
  DT_CHECK(p >= 0 && p <= 1, kValueError, "dropout probability has to be between 0 and 1, but got ",
           p);
}

void check_dropout_dtype(const Tensor& x) {
  DT_CHECK(is_floating(x.dtype()), kRuntimeError,
           "result type Float can't be cast to the desired output type ", type_word(x.dtype()));
}

void check_embedding(const Tensor& input, const Tensor& weight, bool limits_norms, bool sparse) {
  DT_CHECK(weight.ndim() == 2, kRuntimeError, "'weight' must be 2-D");
  const char* argument = limits_norms ? "#2" : "#1";
  const char* step = limits_norms ? "embedding_renorm_" : "embedding";
  DT_CHECK(is_index(input.dtype()), kRuntimeError, "Expected tensor for argument ", argument,
           " 'indices' to have one of the following scalar types: Long, Int; but got torch.",
           type_word(input.dtype()), "Tensor instead (while checking arguments for ", step, ")");
  DT_CHECK(!limits_norms || is_floating(weight.dtype()), kRuntimeError,
           "norm(): input dtype should be either floating point or complex. Got ",
           type_word(weight.dtype()), " instead.");
  DT_CHECK(!sparse, kNotImplemented, "sparse must be false: there are no sparse gradients");
}

void check_padding_idx(std::optional<int64_t> padding_idx, int64_t rows) {
  DT_CHECK(!padding_idx || (*padding_idx >= -rows && *padding_idx < rows), kValueError,
           "Padding_idx must be within num_embeddings");
}

}  // namespace dt
