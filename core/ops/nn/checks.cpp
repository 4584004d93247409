#include "core/ops/nn/checks.h"

#include <algorithm>
#include <cmath>

#include "core/ops/checks.h"

namespace dt {

void check_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  DT_CHECK(input.ndim() > 0 && weight.ndim() > 0, kRuntimeError,
           "both arguments to linear need to be at least 1D, but they are ", input.ndim(), "D and ",
           weight.ndim(), "D");
  DT_CHECK(weight.ndim() <= 2, kRuntimeError,
           "t() expects a tensor with <= 2 dimensions, but self is ", weight.ndim(), "D");
  const bool is_sum = !bias.defined() || (bias.ndim() == 0 && input.ndim() != 2);
  DT_CHECK(weight.ndim() != 1 || is_sum, kRuntimeError, "mat2 must be a matrix, got 1-D tensor");
}

// ---- normalisation

namespace {

// The result's dtype is the input's, and parameters must all have it too, or that in which 16 bits
// are calculated. As in PyTorch the first one says which.
void check_parameter_dtypes(const Tensor& x, std::initializer_list<const Tensor*> all) {
  std::vector<DType> dtypes;
  for (const Tensor* parameter : all) {
    if (parameter->defined()) dtypes.push_back(parameter->dtype());
  }
  if (dtypes.empty()) return;
  const DType own = x.dtype(), wide = kDTypeOf<float>;
  const bool is_mixed = dtypes[0] != own;
  for (DType d : dtypes) {
    DT_CHECK(!is_mixed || d == wide, kRuntimeError,
             "mixed dtype (CPU): expect parameter to have scalar type of Float");
    DT_CHECK(is_mixed || d == own, kRuntimeError, "expected scalar type ", type_word(own),
             " but found ", type_word(d));
  }
  DT_CHECK(!is_mixed || (is_floating(own) && info(own).compute != own), kRuntimeError,
           "mixed dtype (CPU): all inputs must share same datatype.");
}

void check_channels(const char* name, const Tensor& parameter, int64_t channels) {
  DT_CHECK(!parameter.defined() || parameter.numel() == channels, kRuntimeError, name,
           " should contain ", channels, " elements not ", parameter.numel());
}

}  // namespace

namespace {

// Of what normalises the last dimensions: they are those of the shape, and of the weight.
void check_normalized_shape(const Tensor& x, const Dims& shape, const Tensor& weight) {
  DT_CHECK(!shape.empty(), kRuntimeError,
           "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
           "element, but got "
           "normalized_shape = ",
           shape);
  DT_CHECK(!weight.defined() || weight.sizes() == shape, kRuntimeError,
           "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
           weight.sizes(), " and normalized_shape = ", shape);
  const int lead = x.ndim() - shape.size();
  const bool fits = lead >= 0 && IntList(x.sizes().data() + lead, shape.size()) == IntList(shape);
  std::string wanted = "[*";
  for (int64_t n : shape) wanted += text(", ", n);
  DT_CHECK(fits, kRuntimeError, "Given normalized_shape=", shape, ", expected input with shape ",
           wanted, "], but got input of size", x.sizes());
}

}  // namespace

void check_layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight,
                      const Tensor& bias) {
  check_normalized_shape(x, shape, weight);
  DT_CHECK(!bias.defined() || bias.sizes() == shape, kRuntimeError,
           "Expected bias to be of same shape as normalized_shape, but got bias of shape ",
           bias.sizes(), " and normalized_shape = ", shape);
  check_parameter_dtypes(x, {&weight, &bias});
  check_floating(x, "LayerNormKernelImpl");
}

void check_rms_norm(const Tensor& x, const Dims& shape, const Tensor& weight) {
  check_normalized_shape(x, shape, weight);
  check_floating(x, "rms_norm");
}

namespace {

void check_channel_vector(const Tensor& x, const char* name, const Tensor& parameter) {
  DT_CHECK(!parameter.defined() || parameter.sizes() == Dims{x.size(1)}, kRuntimeError, "Expected ",
           name, " to be a vector of size equal to the number of channels in input, but got ", name,
           " of shape ", parameter.sizes(), " and input of shape ", x.sizes());
}

// How many numbers dimensions from 2 on have.
int64_t positions(const Tensor& x) {
  int64_t n = 1;
  for (int d = 2; d < x.ndim(); ++d) n *= x.sizes()[d];
  return n;
}

}  // namespace

void check_group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias) {
  DT_CHECK(x.ndim() >= 2, kRuntimeError,
           "Expected at least 2 dimensions for input tensor but received ", x.ndim());
  DT_CHECK(groups > 0, kRuntimeError, "Expected num groups to be greater than 0, got ", groups);
  const int64_t rows = x.size(0) * x.size(1) / groups;
  Dims seen = x.sizes();
  seen[0] = rows, seen[1] = groups;
  DT_CHECK(rows * positions(x) != 1, kValueError,
           "Expected more than 1 value per channel when training, got input size ", seen);
  DT_CHECK(x.size(1) % groups == 0, kRuntimeError,
           "Expected number of channels in input to be divisible by num_groups, but got input of "
           "shape ",
           x.sizes(), " and num_groups=", groups);
  check_channel_vector(x, "weight", weight);
  check_channel_vector(x, "bias", bias);
  check_floating(x, "GroupNormKernelImpl");
  check_parameter_dtypes(x, {&weight, &bias});
}

void check_instance_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                         const Tensor& weight, const Tensor& bias, bool use_input_stats) {
  DT_CHECK(!use_input_stats || positions(x) != 1, kValueError,
           "Expected more than 1 spatial element when training, got input size ", x.sizes());
  DT_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()), kRuntimeError,
           "Expected running_mean and running_var to be defined when use_input_stats is false");
  DT_CHECK(x.ndim() >= 2, kRuntimeError, "expected at least 2D input (got ", x.ndim(), "D input)");
  if (x.numel() == 0) return;
  // PyTorch converts statistics to the weight's dtype, or the input's.
  const Tensor& statistics = weight.defined() || !running_mean.defined() ? weight : x;
  check_parameter_dtypes(x, {&weight, &bias, &statistics});
}

void check_local_response_norm(const Tensor& x, int64_t size) {
  DT_CHECK(x.ndim() >= 3, kValueError,
           "Expected 3D or higher dimensionality                          "
           "input (got ",
           x.ndim(), " dimensions)");
  DT_CHECK(size > 0, kRuntimeError, "kernel size should be greater than zero, but got kT: ", size,
           " kH: 1 kW: 1");
}

void check_relu_limit(double limit) {
  DT_CHECK(limit >= 0, kValueError, "limit must not be negative, but got ", limit);
}

static void check_statistics(const char* name, const Tensor& running, int64_t channels,
                             bool training) {
  DT_CHECK(running.defined() || training, kRuntimeError, name,
           " must be defined in evaluation mode");
  check_channels(name, running, channels);
}

void check_batch_norm_eps(bool training, double eps) {
  DT_CHECK(!(training && eps <= 0), kValueError,
           "batch_norm eps must be positive during training, but got ", eps);
  DT_CHECK(!(eps < 0), kValueError, "batch_norm eps must be non-negative, but got ", eps);
}

void check_batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                      const Tensor& weight, const Tensor& bias, bool training) {
  DT_CHECK(x.ndim() >= 2, kRuntimeError, "expected at least 2D input (got ", x.ndim(), "D input)");
  DT_CHECK(!training || x.size(0) * positions(x) != 1, kValueError,
           "Expected more than 1 value per channel when training, got input size ", x.sizes());
  if (x.numel() == 0) return;  // with whatever else, like PyTorch
  const int64_t channels = x.size(1);
  check_statistics("running_mean", running_mean, channels, training);
  check_statistics("running_var", running_var, channels, training);
  check_channels("weight", weight, channels);
  check_channels("bias", bias, channels);
  DT_CHECK(running_mean.defined() == running_var.defined(), kValueError,
           "running_mean and running_var must either both be None or neither be None");
  check_constant(running_mean, "native_batch_norm", "running_mean");
  check_constant(running_var, "native_batch_norm", "running_var");
  check_floating(x, "batch_norm");
  check_parameter_dtypes(x, {&weight, &bias, &running_mean, &running_var});
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

void check_feature_dropout(int dims) {
  DT_CHECK(dims >= 2, kRuntimeError, "Feature dropout requires at least 2 dimensions in the input");
}

void check_dropout1d(const Tensor& x) {
  DT_CHECK(x.ndim() == 2 || x.ndim() == 3, kRuntimeError,
           "Expected 2D or 3D input, but received a ", x.ndim(),
           "D input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 "
           "spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
           "inputs).");
}

void check_rrelu(double lower, double upper) {
  DT_CHECK(std::isfinite(lower), kRuntimeError, "lower bound must be finite, got ", lower);
  DT_CHECK(std::isfinite(upper), kRuntimeError, "upper bound must be finite, got ", upper);
  DT_CHECK(lower <= upper, kRuntimeError,
           "Lower bound should be less than or equal to the upper bound");
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

void check_embedding_bag(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                         const Tensor& per_sample_weights) {
  DT_CHECK(!per_sample_weights.defined() || per_sample_weights.sizes() == input.sizes(),
           kValueError, "If per_sample_weights (", per_sample_weights.sizes(),
           ") is not None, then it must have the same shape as the input (", input.sizes(), ")");
  DT_CHECK(weight.ndim() == 2, kValueError,
           "weight has to be a 2D Tensor, but got Tensor of dimension ", weight.ndim());
  DT_CHECK(input.ndim() == 1 || input.ndim() == 2, kValueError,
           "input has to be 1D or 2D Tensor, but got Tensor of dimension ", input.ndim());
  DT_CHECK(input.ndim() == 1 || !offsets.defined(), kValueError,
           "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
           "fixed length sequences. However, found offsets of type Tensor");
  DT_CHECK(input.ndim() == 1 || input.size(1) > 0, kRuntimeError, "step must be nonzero");
  if (input.ndim() == 2) return;
  DT_CHECK(offsets.defined(), kValueError, "offsets has to be a 1D Tensor but got None");
  DT_CHECK(offsets.ndim() == 1, kValueError, "offsets has to be a 1D Tensor");
}

void check_bag_mode(const std::string& mode, bool scale_grad_by_freq, bool sparse,
                    bool has_sample_weights) {
  const bool is_max = mode == "max";
  DT_CHECK(mode == "sum" || mode == "mean" || is_max, kValueError,
           "mode has to be one of sum, mean or max");
  DT_CHECK(!is_max || !scale_grad_by_freq, kValueError,
           "max mode does not support scaling the gradient by the frequency");
  DT_CHECK(!is_max || !sparse, kValueError, "max mode does not support sparse weights");
  DT_CHECK(!sparse, kNotImplemented, "sparse must be false: there are no sparse gradients");
  DT_CHECK(!has_sample_weights || mode == "sum", kNotImplemented,
           "per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
           "(got mode='",
           mode, "'). Please open a feature request on GitHub.");
}

namespace {

void check_offsets(const Tensor& offsets, int64_t entries) {
  if (offsets.device() != kCpu || offsets.numel() == 0) return;
  const int64_t *begin = offsets.data_as<int64_t>(), *end = begin + offsets.numel();
  DT_CHECK(begin[0] == 0, kRuntimeError,
           "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
           "position 0. However, got ",
           begin[0]);
  DT_CHECK(end[-1] <= entries, kRuntimeError, "offsets[-1] can not be greater than input's length ",
           entries, " but got offsets[-1] of ", end[-1]);
  DT_CHECK(std::is_sorted(begin, end), kRuntimeError, "offsets must not decrease");
}

}  // namespace

void check_bags(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                const Tensor& per_sample_weights, bool include_last_offset,
                std::optional<int64_t> padding_idx) {
  const char* where = " (while checking arguments for embedding_bag)";
  DT_CHECK(is_index(input.dtype()), kRuntimeError,
           "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
           "Long, Int; but got torch.",
           type_word(input.dtype()), "Tensor instead", where);
  DT_CHECK(is_floating(weight.dtype()), kRuntimeError,
           "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
           "Half, BFloat16, Float, Double; but got torch.",
           type_word(weight.dtype()), "Tensor instead", where);
  DT_CHECK(!per_sample_weights.defined() || per_sample_weights.dtype() == weight.dtype(),
           kRuntimeError,
           "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
           "#1 'per_sample_weights'; but type torch.",
           type_word(weight.dtype()), "Tensor does not equal torch.",
           type_word(per_sample_weights.dtype()), "Tensor", where);
  const int64_t rows = weight.size(0);
  DT_CHECK(!padding_idx || (*padding_idx >= -rows && *padding_idx < rows), kRuntimeError,
           "padding_idx must be within the number of embeddings, -", rows, " through ", rows - 1,
           ", but got ", padding_idx.value_or(0));
  DT_CHECK(!include_last_offset || offsets.numel() > 0, kRuntimeError,
           "include_last_offset: number of offset should be at least 1");
  check_offsets(offsets, input.numel());
}

}  // namespace dt
