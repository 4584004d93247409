#include "core/ops/pool/checks.h"

#include "core/ops/checks.h"
#include "core/ops/recurrent/packing.h"

namespace dt {
namespace {

// "4x8x8": an image's, also of a line.
std::string size_words(const Dims& sizes) {
  std::string s = std::to_string(sizes[1]);
  if (sizes.size() == 3) s += "x1";
  for (int d = 2; d < sizes.size(); ++d) s += "x" + std::to_string(sizes[d]);
  return s;
}

// The maximum of lines without its indices: PyTorch has a kernel for that, with words of its own.
bool is_max_of_lines(const std::string& op) {
  return op == "max_pool1d";
}

void check_sizes(const char* op, const Tensor& input, const Tensor& x, const Dims& sizes) {
  const Dims& n = x.sizes();
  int empty = 0;  // a dimension without elements
  bool has_windows = true;
  for (int d = n.size() - 1; d > 0; --d) {
    if (n[d] == 0) empty = d;
    if (d > 1) has_windows &= sizes[d] > 0;
  }
  DT_CHECK(
      empty == 0 || n.size() == 5, kRuntimeError, "Expected ", n.size() - 1, "D or ", n.size(),
      "D (batch mode) tensor with optional 0 dim batch size for input, but got:", input.sizes());
  DT_CHECK(empty == 0, kRuntimeError,
           "Expected input's non-batch dimensions to have positive length, but input has a shape "
           "of ",
           input.sizes(), " and non-batch dimension ", empty - (n.size() - input.ndim()),
           " has length zero!");
  DT_CHECK(has_windows || !is_max_of_lines(op), kRuntimeError,
           "Invalid computed output size: ", sizes[2]);
  DT_CHECK(has_windows, kRuntimeError, "Given input size: (", size_words(n),
           "). Calculated output size: (", size_words(sizes), "). Output size is too small");
}

// "must either be a single int, or a tuple of two ints": PyTorch's words differ from op to op.
std::string numbers_wanted(const std::string& op, const std::string& name, int dims) {
  const bool is_stride = name == "stride";
  if (op.compare(0, 10, "fractional") == 0)
    return text("must either be a single Int or tuple of ", dims == 3 ? "three " : "", "Ints");
  const char* const either = name == "dilation"   ? "must be either "
                             : op == "avg_pool3d" ? "must be "
                                                  : "must either be ";
  return text(either, is_stride ? "omitted, " : "", "a single int, or a tuple of ",
              dims == 2 ? "two" : "three", " ints");
}

void check_max_of_lines_window(int64_t size, int64_t stride, int64_t padding, int64_t dilation) {
  const char* const positive = " must be greater than zero, but got ";
  DT_CHECK(size > 0, kRuntimeError, "kernel_size", positive, size);
  DT_CHECK(stride > 0, kRuntimeError, "stride", positive, stride);
  DT_CHECK(padding >= 0, kRuntimeError, "padding must be non-negative, but got ", padding);
  DT_CHECK(padding <= size / 2, kRuntimeError,
           "padding should be at most half of kernel size, but got padding=", padding,
           " and kernel_size=", size);
  DT_CHECK(dilation > 0, kRuntimeError, "dilation", positive, dilation);
}

// As PyTorch has it, not even padding makes a volume as large as the window.
void check_volume(const Dims& sizes, const PoolSettings& p) {
  bool fits = true;
  for (int d = 0; d < 3; ++d) fits &= sizes[d + 2] >= p.size[d] || sizes[d + 2] == 0;
  DT_CHECK(fits, kRuntimeError, "input image (T: ", sizes[2], " H: ", sizes[3], " W: ", sizes[4],
           ") smaller than kernel size (kT: ", p.size[0], " kH: ", p.size[1], " kW: ", p.size[2],
           ")");
}

}  // namespace

void check_one_number(const char* name, IntList values) {
  DT_CHECK(values.size() == 1, kRuntimeError, "argument '", name, "' should contain one int (got ",
           values.size(), ")");
}

void check_pool_numbers(const char* op, const char* name, IntList values, int dims) {
  if (dims == 1 && !is_max_of_lines(op)) return check_one_number(name, values);
  const int64_t n = values.size();
  const bool is_stride = name == std::string("stride");
  DT_CHECK(n == 1 || dims != 1, kRuntimeError, name, " must be ", is_stride ? "None, " : "",
           "an int, list of ints", is_stride || name == std::string("padding") ? "," : "",
           " or tuple of ints of size 1 but got size ", n);
  DT_CHECK(n == 1 || n == dims, kRuntimeError, name, " ", numbers_wanted(op, name, dims));
}

void check_lines(const char* torch_op, const Tensor& input) {
  DT_CHECK(input.ndim() == 2 || input.ndim() == 3, kRuntimeError,
           "Expected 2 to 3 dimensions, but got ", input.ndim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for ", torch_op,
           ")");
}

void check_pool_rank(const char* op, int dims, const Tensor& input) {
  if (dims == 1 && !is_max_of_lines(op))
    return check_lines(op[0] == 'm' ? "max_pool1d" : "avg_pool1d", input);  // which it consists of
  if (input.ndim() == dims + 1 || input.ndim() == dims + 2) return;
  DT_CHECK(dims != 1, kRuntimeError, op,
           ": Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
           "got:",
           input.sizes());
  fail(Code::kRuntimeError,
       text("non-empty ", dims + 1, "D or ", dims + 2, "D (batch mode) tensor expected for input"));
}

void check_pool_divisor(std::optional<int64_t> divisor) {
  DT_CHECK(!divisor || *divisor != 0, kRuntimeError, "divisor must be not zero");
}

void check_pool_window(const char* op, const PoolSettings& p) {
  if (is_max_of_lines(op))
    check_max_of_lines_window(p.size[0], p.stride[0], p.padding[0], p.dilation[0]);
  bool fits = true;
  for (int d = 0; d < p.dims(); ++d) {
    DT_CHECK(p.stride[d] != 0, kRuntimeError, "stride should not be zero");
    DT_CHECK(p.size[d] > 0 && p.stride[d] > 0, kRuntimeError,
             "kernel size and stride should be greater than zero, but got kernel_size=", p.size[d],
             " and stride=", p.stride[d]);
    DT_CHECK(p.dilation[d] > 0, kRuntimeError, "dilation should be greater than zero, but got ",
             p.dilation);
    DT_CHECK(p.padding[d] >= 0, kRuntimeError,
             "pad must be non-negative, but got pad: ", p.padding[d]);
    const int64_t extent = p.dilation[d] * (p.size[d] - 1) + 1;
    DT_CHECK(p.padding[d] <= extent / 2, kRuntimeError,
             "pad should be at most half of effective kernel size, but got pad=", p.padding[d],
             ", kernel_size=", p.size[d], " and dilation=", p.dilation[d]);
    fits &= p.padding[d] <= p.size[d] / 2;
  }
  // Of dilated windows too: then each has a tap inside the image.
  DT_CHECK(fits, kRuntimeError,
           "pad should be smaller than or equal to half of kernel size, but got padding ",
           p.padding, " and kernel size ", p.size);
}

void check_max_pool(const char* op, const Tensor& input, const Tensor& x, const Dims& sizes) {
  check_sizes(op, input, x, sizes);
  const char* const kernel = is_max_of_lines(op) ? "max_pool1d_impl"
                             : x.ndim() == 5     ? "max_pool3d"
                                                 : "max_pool2d";
  DT_CHECK(!is_bool(x.dtype()), kNotImplemented, "\"", kernel, "\" not implemented for 'Bool'");
}

void check_avg_pool(const char* op, const Tensor& input, const Tensor& x, const PoolSettings& p,
                    const Dims& sizes) {
  if (p.dims() == 3) check_volume(x.sizes(), p);
  check_sizes(op, input, x, sizes);
  check_floating(x, x.ndim() == 5 ? "avg_pool3d_out_frame" : "avg_pool2d");
}

bool is_mean_of_all(const Dims& output_size) {
  return output_size == Dims(output_size.size(), 1);
}

void check_adaptive_pool(const char* op, const char* kernel, int dims, bool is_max,
                         const Tensor& input, const Dims& output_size) {
  const bool is_mean = !is_max && is_mean_of_all(output_size);  // NaN of nothing at all
  const bool has_rank = input.ndim() == dims + 1 || input.ndim() == dims + 2;
  DT_CHECK(has_rank || (is_mean && dims > 1 && input.ndim() >= dims), kRuntimeError, op,
           "(): Expected ", dims + 1, "D or ", dims + 2, "D tensor, but got ", input.sizes());
  const bool wants_channels = dims == 3 || is_max;
  for (int d = wants_channels ? 1 : input.ndim() - dims; d < input.ndim(); ++d) {
    DT_CHECK(input.size(d) > 0 || is_mean, kRuntimeError, op,
             "(): Expected input to have non-zero size for non-batch dimensions, but input has "
             "sizes ",
             input.sizes(), " with dimension ", d, " being empty");
  }
  for (int64_t n : output_size) {
    DT_CHECK(n >= 0, kRuntimeError, op,
             ": elements of output_size must be greater than or equal to 0 but received ",
             output_size);
  }
  if (input.numel() > 0 || wants_channels || is_mean) check_floating(input, kernel);
}

void check_unpool(int dims, const Tensor& input, const Tensor& indices) {
  DT_CHECK(input.ndim() == dims + 1 || input.ndim() == dims + 2, kRuntimeError,
           "Input to max_unpooling", dims, "d should be a ", dims + 1, "d or ", dims + 2,
           "d Tensor, but got a tensor with ", input.ndim(), " dimensions.");
  for (int d = input.ndim() - dims; d < input.ndim(); ++d) {
    DT_CHECK(input.size(d) <= INT32_MAX, kRuntimeError, "input of size ", input.sizes(),
             " is too large");
  }
  DT_CHECK(indices.dtype() == kIndexDType, kRuntimeError,
           "elements in indices should be type int64 but got: ", type_word(indices.dtype()));
  DT_CHECK(indices.sizes() == input.sizes(), kRuntimeError,
           "Expected shape of indices to be same as that of the input tensor (", input.sizes(),
           ") but got indices tensor with shape: ", indices.sizes());
  if (input.numel() > 0) check_floating(input, dims == 3 ? "max_unpool3d" : "max_unpool2d");
}

void check_unpooled_count(int dims, int64_t given) {
  DT_CHECK(given == dims || given == dims + 2, kValueError,
           "output_size should be a sequence containing ", dims, " or ", dims + 2,
           " elements, but it has a length of '", given, "'");
}

void check_unpooled_indices(const Tensor& indices, const Dims& spatial) {
  const int64_t n = count_elements(spatial);
  std::string volume;
  for (int64_t size : spatial) volume += text(volume.empty() ? "" : "x", size);
  for (int64_t index : ints_of(indices)) {
    DT_CHECK(index >= 0 && index < n, kRuntimeError, "Found an invalid max index: ", index,
             " (output volumes are of size ", volume, spatial.size() == 1 ? "x1)" : ")");
  }
}

void check_unpooled_sizes(const Dims& sizes, const Dims& usual, const Dims& stride) {
  for (int d = 0; d < sizes.size(); ++d) {
    const int64_t least = usual[d] - stride[d], most = usual[d] + stride[d];
    DT_CHECK(sizes[d] > least && sizes[d] < most, kValueError, "invalid output_size \"", sizes,
             "\" (dim ", d, " must be between ", least, " and ", most, ")");
  }
}

void check_fractional_choice(const char* op, bool is_given) {
  DT_CHECK(is_given, kValueError, op,
           " requires specifying either an output_size or an output_ratio");
}

void check_ratio_count(const char* op, int64_t count, int dims) {
  DT_CHECK(count == 1 || count == dims, kValueError, op,
           " requires output_ratio to either be a single Int or tuple of Ints.");
}

void check_fractional_rank(const char* op, int dims, const Tensor& input) {
  DT_CHECK(input.ndim() == dims + 1 || input.ndim() == dims + 2, kRuntimeError, op, "(): Expected ",
           dims + 1, "D or ", dims + 2, "D tensor, but got: ", input.sizes());
}

void check_fractional_pool(const char* op, const Tensor& x, const Dims& kernel, const Dims& output,
                           const Tensor& samples) {
  const int dims = kernel.size();
  for (int d = 1; d < x.ndim(); ++d)
    DT_CHECK(x.size(d) != 0, kRuntimeError, op,
             "(): Expected input to have non-zero size for non-batch dimensions, but got",
             x.sizes(), " with dimension ", d, " being empty.");
  DT_CHECK(samples.dtype() == x.dtype(), kRuntimeError,
           "Expect _random_samples to have the same dtype as input");
  DT_CHECK(samples.ndim() == 3, kRuntimeError, "Expect _random_samples to have 3 dimensions, got ",
           samples.ndim());
  DT_CHECK(samples.size(0) >= x.size(0), kRuntimeError,
           "Expect _random_samples.size(0) no less then input batch size.");
  DT_CHECK(samples.size(1) == x.size(1), kRuntimeError,
           "Expect _random_samples.size(1) equals to input channel size.");
  DT_CHECK(samples.size(2) == dims, kRuntimeError, "Expect _random_samples.size(2) equals to ",
           dims, "; got ", samples.size(2), ".");
  if (x.numel() > 0) check_floating(x, op);
  const char* const names[] = {"time", "height", "width"};
  for (int d = 0; d < dims; ++d) {
    const char* name = names[3 - dims + d];
    DT_CHECK(kernel[d] > 0 && output[d] >= 0, kRuntimeError, op,
             "(): kernel_size must be positive, and output_size must not be negative");
    const int64_t most = x.size(d + 2) - (dims == 3 ? 1 : 0);  // as PyTorch
    DT_CHECK(output[d] + kernel[d] - 1 <= most, kRuntimeError, op, "(): pool ", name, " ",
             kernel[d], " too large relative to input ", name, " ", x.size(d + 2));
  }
}

}  // namespace dt
