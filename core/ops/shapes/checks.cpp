#include "core/ops/shapes/checks.h"

#include <algorithm>

#include "core/ops/checks.h"

namespace dt {

// ---- pad

namespace {

const char* word(PaddingMode mode) {
  return mode == PaddingMode::kReflect     ? "reflect"
         : mode == PaddingMode::kReplicate ? "replicate"
                                           : "circular";
}

}  // namespace

void check_pad(const Tensor& input, IntList pad, PaddingMode mode,
               const std::optional<Scalar>& value) {
  DT_CHECK(pad.size() % 2 == 0, kRuntimeError, "Padding length must be divisible by 2");
  DT_CHECK(pad.size() <= 2 * input.ndim(), kRuntimeError,
           "Padding length should be less than or equal to two times the input dimension but got "
           "padding length ",
           pad.size(), " and input of dimension ", input.ndim());
  if (mode == PaddingMode::kConstant) return;
  DT_CHECK(!value || value->to_double() == 0, kRuntimeError, "Padding mode \"", word(mode),
           "\" doesn't take in value argument");
  const int64_t padded = pad.size() / 2, lead = input.ndim() - padded;
  DT_CHECK(padded >= 1 && padded <= 3 && (lead == 1 || lead == 2), kNotImplemented, "Padding size ",
           pad.size(), " is not supported for ", input.ndim(),
           "D input tensor.\nSupported combinations for non-constant padding:\n"
           "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
           "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
           "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)");
  if (mode == PaddingMode::kCircular) return;
  DT_CHECK(!is_bool(input.dtype()), kNotImplemented, "\"",
           mode == PaddingMode::kReflect ? "reflection" : "replication", "_pad", padded,
           "d\" not implemented for 'Bool'");
  // All sizes but that of the batch.
  bool has_elements = true;
  for (int d = lead == 2 ? 1 : 0; d < input.ndim(); ++d) has_elements &= input.sizes()[d] != 0;
  DT_CHECK(has_elements, kRuntimeError, "Expected ", padded + 1, "D or ", padded + 2,
           "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
           "input, but got: ",
           input.sizes());
}

void check_padded_size(const Tensor& input, int d, int64_t before, int64_t after) {
  const int64_t n = input.sizes()[d];
  int64_t size;
  const bool overflow =
      __builtin_add_overflow(n, before, &size) || __builtin_add_overflow(size, after, &size);
  DT_CHECK(!overflow && size >= 0 && n + std::min<int64_t>(before, 0) >= 0 &&
               n + std::min<int64_t>(after, 0) >= 0,
           kRuntimeError, "The input size ", n, ", plus negative padding ", before, " and ", after,
           ", resulted in a negative output size, which is invalid. Check dimension ", d,
           " of your input.");
}

void check_pad_reach(const Tensor& input, int d, int64_t before, int64_t after, PaddingMode mode) {
  const int64_t n = input.sizes()[d];
  DT_CHECK(mode != PaddingMode::kCircular || (before <= n && after <= n), kRuntimeError,
           "Padding value causes wrapping around more than once.");
  DT_CHECK(mode != PaddingMode::kReflect || (before < n && after < n), kRuntimeError, "Argument #",
           2 + 2 * (input.ndim() - d),
           ": Padding size should be less than the corresponding input dimension, but got: "
           "padding (",
           before, ", ", after, ") at dimension ", d, " of input ", input.sizes());
}

void check_padded_dims(const Tensor& input, const Dims& padded, int64_t count) {
  const IntList before(input.sizes().end() - count, count), after(padded.end() - count, count);
  const bool has_size = std::any_of(after.begin(), after.end(), [](int64_t n) { return n > 0; });
  DT_CHECK(has_size, kRuntimeError, "input (sizes ", before,
           ") is too small. Calculated output sizes: ", after);
}

// ---- arrangements

void check_roll(const Tensor& input, IntList shifts, IntList dims) {
  DT_CHECK(!shifts.empty(), kRuntimeError, "`shifts` required");
  const bool aligned = dims.size() == shifts.size() || (dims.empty() && shifts.size() == 1);
  DT_CHECK(aligned, kRuntimeError, "shifts and dimensions must align. shifts: ", shifts.size(),
           ", dims:", dims.size());
  DT_CHECK(dims.empty() || input.ndim() > 0, kIndexError, "Dimension specified as ",
           dims.empty() ? 0 : dims[0], " but tensor has no dimensions");
}

void check_rot90(const Tensor& input, IntList dims) {
  DT_CHECK(dims.size() == 2, kRuntimeError,
           "expected total rotation dims == 2, but got dims = ", dims.size());
  DT_CHECK(input.ndim() >= 2, kRuntimeError,
           "expected total dims >= 2, but got total dims = ", input.ndim());
  DT_CHECK(wrap_dim(dims[0], input.ndim()) != wrap_dim(dims[1], input.ndim()), kRuntimeError,
           "expected rotation dims to be different, but got dim0 = ", dims[0],
           " and dim1 = ", dims[1]);
}

void check_flip_along(const Tensor& input, int dim) {
  DT_CHECK(input.ndim() > dim, kRuntimeError, "Input must be >= ", dim + 1, "-d.");
}

void check_repeats(const Tensor& repeats, int64_t size, int dim) {
  DT_CHECK(repeats.ndim() <= 1, kRuntimeError, "repeats must be 0-dim or 1-dim tensor");
  DT_CHECK(is_index(repeats.dtype()), kNotImplemented,
           "\"repeat_interleave_cpu\" not implemented for '", type_word(repeats.dtype()), "'");
  DT_CHECK(repeats.numel() == 1 || repeats.numel() == size, kRuntimeError,
           "repeats must have the same size as input along dim, but got repeats.size(0) = ",
           repeats.numel(), " and input.size(", dim, ") = ", size);
}

void check_repeat_count(int64_t count) {
  DT_CHECK(count >= 0, kRuntimeError, "repeats can not be negative");
}

void check_repeated_size(int64_t size, std::optional<int64_t> wanted) {
  DT_CHECK(!wanted || *wanted == size, kRuntimeError,
           "repeat_interleave: Invalid output_size, expected ", size, " but got ",
           wanted.value_or(0));
}

// ---- diagonals and grids

void check_diag(const Tensor& input) {
  DT_CHECK(input.ndim() == 1 || input.ndim() == 2, kRuntimeError,
           "diag(): Supports 1D or 2D tensors. Got ", input.ndim(), "D");
}

void check_block(const Tensor& block, int64_t number) {
  DT_CHECK(block.ndim() <= 2, kRuntimeError,
           "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", number,
           " has ", block.ndim(), " dimensions");
}

void check_stack_list(const char* name, TensorList tensors) {
  DT_CHECK(!tensors.empty(), kRuntimeError, name, " expects a non-empty TensorList");
}

void check_unravel_index(const Tensor& indices, IntList shape) {
  DT_CHECK(!is_floating(indices.dtype()) && !is_bool(indices.dtype()), kTypeError,
           "expected 'indices' to be integer dtype, but got ", info(indices.dtype()).name);
  for (int64_t n : shape) {
    DT_CHECK(n >= 0, kValueError, "'shape' cannot have negative values, but got ", shape);
  }
}

void check_vector(const Tensor& x) {
  DT_CHECK(x.ndim() == 1, kRuntimeError, "Expect a 1D vector, but got shape ", x.sizes());
}

void check_combinations(const Tensor& input, int64_t r) {
  check_vector(input);
  DT_CHECK(r >= 0, kRuntimeError, "Expect a non-negative number, but got ", r);
  DT_CHECK(r <= DT_MAX_DIMS, kRuntimeError, "at most ", int(DT_MAX_DIMS),
           " elements can be chosen, got ", r);
}

void check_triangle_indices(const char* name, int64_t rows, int64_t columns, DType dtype) {
  DT_CHECK(rows >= 0, kRuntimeError, "row must be non-negative, got", rows);
  DT_CHECK(columns >= 0, kRuntimeError, "col must be non-negative, got", columns);
  DT_CHECK(is_index(dtype), kNotImplemented, "\"", name, "\" not implemented for '",
           type_word(dtype), "'");
}

// ---- copies with a part written

void check_place(const Tensor& place, const Tensor& src) {
  DT_CHECK(place.sizes() == src.sizes(), kRuntimeError,
           "expected src to have a size equal to the slice of self. src size = ", src.sizes(),
           ", slice size = ", place.sizes());
}

// ---- windows

namespace {

std::string pair_text(IntPair pair) {
  return text("(", pair[0], ", ", pair[1], ")");
}

void check_positive(const char* what, const char* name, IntPair pair) {
  DT_CHECK(pair[0] > 0 && pair[1] > 0, kRuntimeError, what,
           " should be greater than zero, but got ", name, "_height: ", pair[0], " ", name,
           "_width: ", pair[1]);
}

}  // namespace

void check_window(const Window& w) {
  check_positive("kernel size", "kernel", w.size);
  check_positive("dilation", "dilation", w.dilation);
  DT_CHECK(w.padding[0] >= 0 && w.padding[1] >= 0, kRuntimeError,
           "padding should be non-negative, but got pad_height: ", w.padding[0],
           " pad_width: ", w.padding[1]);
  check_positive("stride", "stride", w.stride);
}

void check_im2col(const Tensor& input) {
  const int n = input.ndim();
  bool has_elements = n == 3 || n == 4;
  for (int d = n == 4 ? 1 : 0; d < n; ++d) has_elements &= input.sizes()[d] != 0;
  DT_CHECK(has_elements, kRuntimeError,
           "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
           "dimensions for input, but got: ",
           input.sizes());
  if (!is_bool(input.dtype())) check_floating(input, "im2col_out_cpu");
}

void check_im2col_count(const Tensor& input, const Window& w, IntPair windows) {
  DT_CHECK(windows[0] > 0 && windows[1] > 0, kRuntimeError, "Given input with spatial size ",
           pair_text({input.size(-2), input.size(-1)}), ", kernel_size=", pair_text(w.size),
           ", dilation=", pair_text(w.dilation), ", padding=", pair_text(w.padding),
           ", calculated shape of the array of sliding blocks as ", pair_text(windows),
           ", but its components must be at least one.");
}

void check_col2im(const Tensor& input, const Window& w, IntPair output, IntPair windows) {
  const int n = input.ndim();
  const bool is_matrix = (n == 2 || n == 3) && input.size(-2) != 0 && input.size(-1) != 0;
  DT_CHECK(is_matrix, kRuntimeError,
           "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
           "non-zero dimensions for input, but got: ",
           input.sizes());
  if (!is_bool(input.dtype())) check_floating(input, "col2im_out_cpu");
  DT_CHECK(input.size(-2) % (w.size[0] * w.size[1]) == 0, kRuntimeError,
           "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
           "but got input.size(1)=",
           input.size(-2), " and kernel_size=", pair_text(w.size), ".");
  const std::string settings =
      text("Given output_size=", pair_text(output), ", kernel_size=", pair_text(w.size),
           ", dilation=", pair_text(w.dilation), ", padding=", pair_text(w.padding),
           ", stride=", pair_text(w.stride));
  DT_CHECK(input.size(-1) == windows[0] * windows[1], kRuntimeError, settings,
           ", expected size of input's dimension 2 to match the calculated number of sliding "
           "blocks ",
           windows[0], " * ", windows[1], " = ", windows[0] * windows[1],
           ", but got input.size(2)=", input.size(-1), ".");
  DT_CHECK(windows[0] > 0 && windows[1] > 0, kRuntimeError, settings,
           ", calculated shape of the array of sliding blocks as ", pair_text(windows),
           ", which is too small (non-positive)");
}

void check_pixel_shuffle(const Tensor& input, int64_t factor) {
  DT_CHECK(input.ndim() >= 3, kRuntimeError,
           "pixel_shuffle expects input to have at least 3 dimensions, but got input with ",
           input.ndim(), " dimension(s)");
  DT_CHECK(factor > 0, kRuntimeError, "pixel_shuffle expects a positive upscale_factor, but got ",
           factor);
  constexpr int64_t kLargest = 3037000499;  // whose square an int64 holds
  DT_CHECK(factor <= kLargest, kValueError,
           "upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor=", factor);
  DT_CHECK(input.size(-3) % (factor * factor) == 0, kRuntimeError,
           "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
           "of upscale_factor, but input.size(-3)=",
           input.size(-3), " is not divisible by ", factor * factor);
}

void check_pixel_unshuffle(const Tensor& input, int64_t factor) {
  DT_CHECK(input.ndim() >= 3, kRuntimeError,
           "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ",
           input.ndim(), " dimension(s)");
  DT_CHECK(factor > 0, kRuntimeError,
           "pixel_unshuffle expects a positive downscale_factor, but got ", factor);
  for (const int d : {-2, -1}) {
    DT_CHECK(input.size(d) % factor == 0, kRuntimeError, "pixel_unshuffle expects ",
             d == -2 ? "height" : "width", " to be divisible by downscale_factor, but input.size(",
             d, ")=", input.size(d), " is not divisible by ", factor);
  }
}

void check_channel_shuffle(const Tensor& input, int64_t groups) {
  DT_CHECK(input.ndim() > 2, kRuntimeError,
           "channel_shuffle expects input with > 2 dims, but got input with sizes ", input.sizes());
  DT_CHECK(groups > 0, kRuntimeError,
           "Number of groups to divide channels in must be positive. Value of groups:", groups);
  DT_CHECK(input.size(1) % groups == 0, kRuntimeError,
           "Number of channels must be divisible by groups. Got ", input.size(1), " channels and ",
           groups, " groups.");
}

}  // namespace dt
