#include "core/ops/conv/checks.h"

#include "core/ops/checks.h"

namespace dt {
namespace {

bool any_below(const Dims& values, int64_t least) {
  for (int64_t v : values)
    if (v < least) return true;
  return false;
}

template <class Of>
Dims each(int dims, const Of& of) {
  Dims values;
  for (int d = 0; d < dims; ++d) values.push_back(of(d));
  return values;
}

// "8 x 9"
std::string product_of(const Dims& sizes) {
  std::string s;
  for (int64_t n : sizes) s += (s.empty() ? "" : " x ") + std::to_string(n);
  return s;
}

// "stride_height: 1 stride_width: 2". A line is an image of one row: `of_row` is the number there.
std::string by_name(const char* what, Dims values, int64_t of_row) {
  static const char* const kNames[] = {"depth", "height", "width"};
  if (values.size() == 1) values.insert(0, of_row);
  std::string s;
  for (int d = 0; d < values.size(); ++d)
    s += text(s.empty() ? "" : " ", what, "_", kNames[3 - values.size() + d], ": ", values[d]);
  return s;
}

void check_settings(const ConvSettings& c) {
  DT_CHECK(c.groups > 0, kRuntimeError, "non-positive groups is not supported");
  DT_CHECK(!any_below(c.padding, 0), kRuntimeError, "negative padding is not supported");
  DT_CHECK(!any_below(c.stride, 1), kRuntimeError, "non-positive stride is not supported");
  DT_CHECK(!any_below(c.dilation, 1), kRuntimeError,
           "dilation should be greater than zero, but got ", c.dilation);
}

void check_groups(const Tensor& weight, int64_t groups) {
  const int64_t first = weight.sizes()[0];
  DT_CHECK(first >= groups, kRuntimeError, "Given groups=", groups,
           ", expected weight to be at least ", groups, " at dimension 0, but got weight of size ",
           weight.sizes(), " instead");
  DT_CHECK(first % groups == 0, kRuntimeError, "Given groups=", groups,
           ", expected weight to be divisible by ", groups,
           " at dimension 0, but got weight of size [", weight.sizes(), "] instead");
  for (int d = 2; d < weight.ndim(); ++d) {
    DT_CHECK(weight.sizes()[d] > 0, kRuntimeError,
             "kernel size should be greater than zero, but got weight of size ", weight.sizes());
  }
}

void check_channels(const Tensor& x, const Tensor& weight, int64_t channels, const char* setting,
                    int64_t value) {
  DT_CHECK(x.sizes()[1] == channels, kRuntimeError, "Given ", setting, "=", value,
           ", weight of size ", weight.sizes(), ", expected input", x.sizes(), " to have ",
           channels, " channels, but got ", x.sizes()[1], " channels instead");
}

void check_bias(const Tensor& bias, const Tensor& weight, int64_t outputs, const char* given) {
  DT_CHECK(!bias.defined() || (bias.ndim() == 1 && bias.numel() == outputs), kRuntimeError, given,
           "weight of size ", weight.sizes(), ", expected bias to be 1-dimensional with ", outputs,
           " elements, but got bias of size ", bias.sizes(), " instead");
}

void check_window_fits(const Tensor& x, const Tensor& weight, const ConvSettings& c) {
  const Dims &image = x.sizes(), &kernel = weight.sizes();
  const auto padded = [&](int d) { return image[d + 2] + 2 * c.padding[d]; };
  const auto window = [&](int d) { return c.extent(d, kernel[d + 2]); };
  const bool has_images = image[0] > 0 && image[1] > 0;
  bool fits = true, empty = false;
  for (int d = 0; d < c.dims(); ++d) {
    fits &= padded(d) >= window(d);
    empty |= has_images && image[d + 2] == 0;
  }
  DT_CHECK(fits, kRuntimeError, "Calculated padded input size per channel: (",
           product_of(each(c.dims(), padded)), "). Kernel size: (",
           product_of(each(c.dims(), window)),
           "). Kernel size can't be greater than actual input size");
  DT_CHECK(
      !empty, kRuntimeError,
      "Only zero batch or zero channel inputs are supported, but got input shape: ", x.sizes());
}

void check_weight_dtype(const Tensor& x, const Tensor& weight) {
  DT_CHECK(x.dtype() == weight.dtype(), kRuntimeError, "expected scalar type ",
           type_word(x.dtype()), " but found ", type_word(weight.dtype()));
}

void check_bias_dtype(const Tensor& x, const Tensor& bias) {
  DT_CHECK(!bias.defined() || bias.dtype() == x.dtype(), kRuntimeError, "Input type (",
           c_type_word(x.dtype()), ") and bias type (", c_type_word(bias.dtype()),
           ") should be the same");
}

void check_output_padding(const ConvSettings& c, const Dims& more) {
  DT_CHECK(!any_below(more, 0), kRuntimeError, "negative output_padding is not supported");
  for (int d = 0; d < c.dims(); ++d) {
    DT_CHECK(more[d] < c.stride[d] || more[d] < c.dilation[d], kRuntimeError,
             "output padding must be smaller than either stride or dilation, but got ",
             by_name("output_padding", more, 0), " ", by_name("stride", c.stride, 1), " ",
             by_name("dilation", c.dilation, 1));
  }
}

}  // namespace

void check_window_numbers(const char* name, IntList values, int n) {
  DT_CHECK(values.size() == 1 || values.size() == n, kRuntimeError, "expected ", name,
           " to be a single integer value or a list of ", n,
           " values to match the convolution dimensions, but got ", name, "=", values);
  for (int64_t v : values) {
    DT_CHECK(v >= INT32_MIN && v <= INT32_MAX, kRuntimeError, name, "=", values,
             ": integer out of range");
  }
}

void check_pair(const char* name, IntList values) {
  DT_CHECK(values.size() == 1 || values.size() == 2, kRuntimeError, "It is expected ", name,
           " equals to 2, but got size ", values.size());
  check_window_numbers(name, values, 2);
}

void check_conv_ranks(const char* op, int dims, const Tensor& input, const Tensor& weight) {
  DT_CHECK(input.ndim() == dims + 1 || input.ndim() == dims + 2, kRuntimeError, "Expected ",
           dims + 1, "D (unbatched) or ", dims + 2, "D (batched) input to ", op,
           ", but got input of size: ", input.sizes());
  DT_CHECK(weight.ndim() >= 3, kRuntimeError, "weight should have at least three dimensions");
  DT_CHECK(weight.ndim() == dims + 2, kRuntimeError, "Expected ", weight.ndim(),
           "-dimensional input for ", weight.ndim(), "-dimensional weight ", weight.sizes(),
           ", but got ", input.ndim(), "-dimensional input of size ", input.sizes(), " instead");
}

void check_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvSettings& c) {
  check_settings(c);
  check_groups(weight, c.groups);
  check_channels(x, weight, weight.sizes()[1] * c.groups, "groups", c.groups);
  check_bias(bias, weight, weight.sizes()[0], "Given ");
  check_window_fits(x, weight, c);
  DT_CHECK(!is_bool(x.dtype()) || x.numel() == 0, kNotImplemented, "\"",
           c.dims() == 3 ? "compute_columns3d" : "slow_conv2d_cpu",
           "\" not implemented for 'Bool'");
  check_bias_dtype(x, bias);
  check_weight_dtype(x, weight);
}

void check_conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                          const ConvSettings& c, const Dims& output_padding) {
  check_settings(c);
  DT_CHECK(!any_below(output_padding, 0), kRuntimeError,
           "negative output_padding is not supported");
  check_groups(weight, c.groups);
  check_channels(x, weight, weight.size(0), "transposed", 1);
  check_bias(bias, weight, weight.size(1) * c.groups, "Given transposed=1, ");
  check_output_padding(c, output_padding);
  Dims given, sizes;
  for (int d = 0; d < c.dims(); ++d) {
    given.push_back(x.size(d + 2));
    DT_CHECK(
        given[d] > 0 || x.size(0) == 0, kRuntimeError,
        "Only zero batch or zero channel inputs are supported, but got input shape: ", x.sizes());
    DT_CHECK(given[d] <= INT32_MAX, kRuntimeError, "input of size ", x.sizes(), " is too large");
    sizes.push_back(c.transposed_size(d, given[d], weight.size(d + 2), output_padding[d]));
  }
  DT_CHECK(!any_below(sizes, 1), kRuntimeError, "Given input size per channel: (",
           product_of(given), "). Calculated output size per channel: (", product_of(sizes),
           "). Output size is too small");
  DT_CHECK(is_floating(x.dtype()) || x.numel() == 0, kNotImplemented, "\"slow_conv_transpose",
           c.dims() == 3 ? 3 : 2, "d_out_cpu\" not implemented for '", type_word(x.dtype()), "'");
  check_weight_dtype(x, weight);
  check_bias_dtype(x, bias);
}

void check_conv_padding(const std::string& padding) {
  DT_CHECK(padding == "same" || padding == "valid", kRuntimeError, "Invalid padding string: '",
           padding, "'");
}

void check_same_padding(const Dims& stride) {
  for (int64_t s : stride) {
    DT_CHECK(s == 1, kRuntimeError, "padding='same' is not supported for strided convolutions");
  }
}

}  // namespace dt
