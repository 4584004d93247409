#include "core/ops/vision/checks.h"

#include <algorithm>
#include <cmath>

#include "core/ops/checks.h"
#include "core/runtime/backend.h"

namespace dt {

namespace {

bool is_any(Interpolation mode, std::initializer_list<Interpolation> modes) {
  return std::find(modes.begin(), modes.end(), mode) != modes.end();
}

// Modes that are of any number of spatial dimensions have no corners to align.
bool has_corners(Interpolation mode) {
  return !is_any(mode,
                 {Interpolation::kNearest, Interpolation::kNearestExact, Interpolation::kArea});
}

// How many spatial dimensions the mode is of; 0: any.
int spatial_dims(Interpolation mode) {
  if (!has_corners(mode)) return 0;
  return mode == Interpolation::kLinear ? 1 : mode == Interpolation::kTrilinear ? 3 : 2;
}

// PyTorch's name of the kernel that refuses other dtypes.
std::string kernel_of(const Tensor& x, Interpolation mode, bool antialias) {
  if (antialias) return "compute_index_ranges_weights";
  if (mode == Interpolation::kBicubic) return "compute_indices_weights_cubic";
  if (mode == Interpolation::kBilinear) return "upsample_bilinear2d_channels_last";
  if (has_corners(mode)) return "compute_indices_weights_linear";
  return "upsample_nearest" + std::to_string(x.ndim() - 2) + "d";
}

}  // namespace

void check_alignment(Interpolation mode, std::optional<bool> align_corners) {
  DT_CHECK(!align_corners || has_corners(mode), kValueError,
           "align_corners option can only be set with the interpolating modes: linear | bilinear | "
           "bicubic | trilinear");
}

void check_recomputes(bool recomputes, bool has_size) {
  DT_CHECK(!recomputes || !has_size, kValueError,
           "recompute_scale_factor is not meaningful with an explicit size.");
}

void check_antialias(const Tensor& x, Interpolation mode, bool antialias, bool align_corners) {
  const bool is_of_images = spatial_dims(mode) == 2 && x.ndim() == 4;
  DT_CHECK(!antialias || is_of_images, kValueError,
           "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a "
           "4-D tensor as input");
  if (mode != Interpolation::kLanczos || x.ndim() != 4) return;
  DT_CHECK(!align_corners, kValueError, "Lanczos mode does not support align_corners=True");
  DT_CHECK(antialias, kValueError, "Lanczos mode requires antialias=True");
}

void check_interpolation_dims(const Tensor& x, Interpolation mode) {
  const int n = x.ndim(), wanted = spatial_dims(mode) + 2;
  const bool fits = n >= 3 && n <= 5 && (wanted == 2 || wanted == n);
  const bool names_dims =
      n >= 3 && n <= 5 &&
      is_any(mode, {Interpolation::kLinear, Interpolation::kBilinear, Interpolation::kTrilinear});
  const char* word = mode == Interpolation::kLinear      ? "linear"
                     : mode == Interpolation::kTrilinear ? "trilinear"
                                                         : "bilinear";
  DT_CHECK(fits || !names_dims, kNotImplemented, "Got ", n, "D input, but ", word, " mode needs ",
           wanted, "D input");
  DT_CHECK(fits, kNotImplemented, "Input Error: Only 3D, 4D and 5D input Tensors supported (got ",
           n,
           "D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
           "nearest-exact");
}

void check_interpolate(const Tensor& x, Interpolation mode, bool antialias) {
  DT_CHECK(x.size(1) > 0, kRuntimeError, "Non-empty ", x.ndim(),
           "D data tensor expected but got a tensor with sizes ", x.sizes());
  const bool takes_bytes = spatial_dims(mode) % 2 == 0;
  DT_CHECK(is_floating(x.dtype()) || (takes_bytes && x.dtype() == kByteDType), kNotImplemented,
           "\"", kernel_of(x, mode, antialias), "\" not implemented for '", type_word(x.dtype()),
           "'");
}

void check_resampled(const Tensor& planes) {
  for (int64_t size : planes.sizes())
    DT_CHECK(size <= INT32_MAX, kRuntimeError, "sizes of ", size,
             " elements and more are not supported");
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

void check_sampling_words(const std::string& mode, const std::string& padding_mode) {
  DT_CHECK(mode == "bilinear" || mode == "nearest" || mode == "bicubic", kValueError,
           "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
           "but got: '",
           mode, "'");
  DT_CHECK(padding_mode == "zeros" || padding_mode == "border" || padding_mode == "reflection",
           kValueError,
           "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
           "'reflection', but got: '",
           padding_mode, "'");
}

void check_grid_sample(const Tensor& input, const Tensor& grid, bool is_cubic) {
  check_same_device(input.device(), grid.device());
  const int dims = input.ndim() - 2;
  DT_CHECK(input.ndim() > 0 && grid.ndim() > 0 && input.size(0) == grid.size(0), kRuntimeError,
           "grid_sampler(): expected grid and input to have same batch size, but got input with "
           "sizes ",
           input.sizes(), " and grid with sizes ", grid.sizes());
  DT_CHECK(grid.size(-1) == dims, kRuntimeError, "grid_sampler(): expected grid to have size ",
           dims, " in last dimension, but got grid with sizes ", grid.sizes());
  for (int d = 2; d < input.ndim(); ++d)
    DT_CHECK(input.size(d) > 0, kRuntimeError,
             "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
             "sizes ",
             input.sizes(), " with dimension ", d, " being empty");
  DT_CHECK((dims == 2 || dims == 3) && grid.ndim() == input.ndim(), kRuntimeError,
           "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
           "got input with sizes ",
           input.sizes(), " and grid with sizes ", grid.sizes());
  DT_CHECK(!is_cubic || dims == 2, kRuntimeError,
           "grid_sampler(): bicubic interpolation only supports 4D input");
  const bool samples = grid.numel() > 0 && input.numel() > 0;
  DT_CHECK(input.dtype() == grid.dtype() || !samples, kRuntimeError, "expected scalar type ",
           type_word(input.dtype()), " but found ", type_word(grid.dtype()));
  if (samples || dims == 3)
    check_floating(input, dims == 2 ? "grid_sampler_2d_cpu_kernel_impl" : "grid_sampler3d_cpu");
}

void check_affine_grid(const Tensor& theta, IntList size, bool align_corners) {
  DT_CHECK(is_floating(theta.dtype()), kValueError,
           "Expected theta to have floating point type, but got ", info(theta.dtype()).name);
  const auto dims = static_cast<int64_t>(size.size()) - 2;
  DT_CHECK(dims == 2 || dims == 3, kNotImplemented,
           "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
           "respectively. Got size ",
           size, ".");
  DT_CHECK(theta.ndim() == 3 && theta.size(1) == dims && theta.size(2) == dims + 1, kValueError,
           "Expected a batch of ", dims, "D affine matrices of shape Nx", dims, "x", dims + 1,
           " for size ", size, ". Got ", theta.sizes(), ".");
  int64_t least = size[0], least_spatial = size[2];
  for (int64_t n : size) least = std::min(least, n);
  for (int64_t d = 2; d < dims + 2; ++d) least_spatial = std::min(least_spatial, size[d]);
  const bool is_of_one = align_corners && least_spatial == 1;  // as PyTorch looks
  DT_CHECK(is_of_one || least > 0, kValueError, "Expected non-zero, positive output size. Got ",
           size);
  DT_CHECK(theta.size(0) == size[0], kRuntimeError,
           "Expected size for first two dimensions of batch2 tensor to be: [", size[0], ", ",
           dims + 1, "] but got: [", theta.size(0), ", ", dims + 1, "].");
}

}  // namespace dt
