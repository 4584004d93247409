// Resizing images. Elements that are repeated or left out are remapped, means of areas are adaptive
// pooling, and everything else is resampling.
#include <algorithm>

#include "core/autograd/record.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pool.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/vision.gen.h"
#include "core/ops/vision/checks.h"
#include "core/ops/vision/remap.h"
#include "core/ops/vision/resample.h"

namespace dt {
namespace {

// One spatial dimension of the input, and what becomes of it.
struct Resize {
  int64_t from = 0, to = 0;
  std::optional<double> factor;  // of the user's, who gave no size

  double step() const {
    if (factor && *factor > 0) return 1 / *factor;
    return static_cast<double>(from) / static_cast<double>(to);
  }
};

using Resizes = std::vector<Resize>;

int64_t scaled(int64_t size, double factor) {
  const double result = static_cast<double>(size) * factor;
  check_scaled_size(result);
  return static_cast<int64_t>(result);
}

Resizes resizes(const Tensor& x, std::optional<IntList> size,
                std::optional<Span<const double>> factors, bool keeps_factors) {
  check_resize_counts(x, size ? std::optional(size->size()) : std::nullopt,
                      factors ? std::optional(factors->size()) : std::nullopt);
  Resizes out;
  for (int i = 0; i < x.ndim() - 2; ++i) {
    Resize r;
    r.from = x.size(i + 2);
    if (size) r.to = (*size)[size->size() == 1 ? 0 : i];
    if (factors) {
      const double factor = (*factors)[factors->size() == 1 ? 0 : i];
      r.to = scaled(r.from, factor);
      if (keeps_factors) r.factor = factor;
    }
    out.push_back(r);
  }
  return out;
}

// ---- elements that are repeated or left out

// The step has PyTorch's precision, which decides which elements are taken. PyTorch's nearest
// overrides a factor that changes nothing, or doubles the size, only nearly.
Tensor nearest(const Tensor& input, const Resizes& resizes, Interpolation mode) {
  static constexpr const char* kNodes[2][3] = {
      {"UpsampleNearest1DBackward0", "UpsampleNearest2DBackward0", "UpsampleNearest3DBackward0"},
      {"UpsampleNearestExact1DBackward0", "UpsampleNearestExact2DBackward0",
       "UpsampleNearestExact3DBackward0"}};
  const bool exact = mode == Interpolation::kNearestExact;
  const size_t dims = resizes.size();
  Remapping how = {};
  how.node = kNodes[exact][dims - 1];
  how.mode = RemapMode::kNearest;
  how.from = how.to = input.sizes();
  how.step = {1, 1, 1};
  how.offset = exact ? 0.5 : 0;
  how.channels_last = is_channels_last(input);
  for (size_t i = 0; i < dims; ++i) {
    Resize r = resizes[i];
    if (!exact && (r.to == r.from || r.to == 2 * r.from)) r.factor = {};
    how.to[static_cast<int>(i) + 2] = r.to;
    how.step[Remapping::kDims - dims + i] = static_cast<double>(static_cast<float>(r.step()));
  }
  return remap(input, how);
}

// ---- means of areas

Tensor area(const Tensor& input, const Resizes& resizes) {
  Dims sizes;
  for (const Resize& r : resizes) sizes.push_back(r.to);
  if (sizes.size() == 1) return adaptive_avg_pool1d(input, sizes);
  if (sizes.size() == 3) return autocast::adaptive_avg_pool3d(input, sizes);
  const Tensor y = adaptive_avg_pool2d(input, sizes);
  return is_channels_last(input) ? contiguous(y, MemoryFormat::kChannelsLast) : y;
}

// ---- weighted elements

int64_t reach_of(Interpolation mode) {
  return mode == Interpolation::kLanczos ? 3 : mode == Interpolation::kBicubic ? 2 : 1;
}

// What becomes of each dimension; nothing of those that stay as they are.
std::vector<std::optional<Resampling>> resamplings(const Resizes& resizes, int64_t reach,
                                                   bool align_corners, bool antialias) {
  std::vector<std::optional<Resampling>> out;
  for (const Resize& r : resizes) {
    Resampling line{r.from, r.to, r.step(), reach, align_corners, antialias, false};
    if (align_corners)
      line.step = r.to > 1 ? static_cast<double>(r.from - 1) / static_cast<double>(r.to - 1) : 0;
    out.push_back(line.changes() ? std::optional(line) : std::nullopt);
  }
  return out;
}

// Dimension `dim` alone, as the rows of what lies behind it.
Tensor resample_along(const Tensor& x, int dim, const std::optional<Resampling>& line) {
  if (!line) return x;
  Dims sizes = x.sizes();
  int64_t planes = 1, inner = 1;
  for (int d = 0; d < dim; ++d) planes *= sizes[d];
  for (int d = dim + 1; d < x.ndim(); ++d) inner *= sizes[d];
  sizes[dim] = line->to;
  return unsafe_view(resample(reshape(x, {planes, line->from, inner}), line, {}), sizes);
}

// The last two dimensions together.
Tensor resample_images(const Tensor& x, const std::optional<Resampling>& rows,
                       const std::optional<Resampling>& columns) {
  if (!rows && !columns) return x;
  Dims sizes = x.sizes();
  const int h = x.ndim() - 2, w = x.ndim() - 1;
  const Tensor planes = reshape(x, {x.numel() / (sizes[h] * sizes[w]), sizes[h], sizes[w]});
  if (rows) sizes[h] = rows->to;
  if (columns) sizes[w] = columns->to;
  return unsafe_view(resample(planes, rows, columns), sizes);
}

// Bytes are rounded after each of the two steps, as PyTorch does.
Tensor resample_bytes(const Tensor& x, std::optional<Resampling> rows,
                      std::optional<Resampling> columns) {
  const auto step = [](const Tensor& wide, int dim, std::optional<Resampling>& line) {
    if (!line) return wide;
    line->fixed_point = true;
    return clamp_max(clamp_min(floor(add(resample_along(wide, dim, line), 0.5)), 0), 255);
  };
  const Tensor wide = to_dtype(contiguous(x), kRealDType);
  const Tensor y = to_dtype(step(step(wide, 3, columns), 2, rows), x.dtype());
  return is_channels_last(x) ? contiguous(y, MemoryFormat::kChannelsLast) : y;
}

Tensor weighted(const Tensor& input, const Resizes& resizes, Interpolation mode, bool align_corners,
                bool antialias) {
  const auto lines = resamplings(resizes, reach_of(mode), align_corners, antialias);
  const bool last = is_channels_last(input);
  const auto changes = [](const auto& line) { return line.has_value(); };
  if (std::none_of(lines.begin(), lines.end(), changes))
    return clone(input, last ? MemoryFormat::kChannelsLast : MemoryFormat::kContiguous);
  if (!is_floating(input.dtype())) return resample_bytes(input, lines[0], lines[1]);
  const bool has_steps = last || lines.size() == 3;  // between which nothing is rounded
  const Tensor x = has_steps ? to_dtype(input, info(input.dtype()).compute) : input;
  Tensor y;
  if (lines.size() == 1) {
    y = resample_images(x, {}, lines[0]);
  } else if (last) {  // vectors lie along the channels
    y = resample_along(permute(x, {0, 2, 3, 1}), 2, lines[1]);
    y = alias(permute(resample_along(y, 1, lines[0]), {0, 3, 1, 2}));
  } else if (lines.size() == 2) {
    y = resample_images(x, lines[0], lines[1]);
  } else {
    y = resample_along(resample_images(x, lines[1], lines[2]), 2, lines[0]);
  }
  return to_dtype(y, input.dtype());
}

// ---- all of them

struct Choice {
  Interpolation mode;
  bool align_corners = false, antialias = false, keeps_factors = true;
};

Tensor resize_images(const Tensor& input, std::optional<IntList> size,
                     std::optional<Span<const double>> factors, Choice how) {
  const bool is_area = how.mode == Interpolation::kArea;
  const Resizes sizes = resizes(input, size, factors, how.keeps_factors && !is_area);
  check_interpolation_dims(input, how.mode);
  if (is_area) return area(input, sizes);
  check_interpolate(input, how.mode, how.antialias);
  for (size_t i = 0; i < sizes.size(); ++i)
    check_resize(sizes[i].from, sizes[i].to, static_cast<int>(i) + 2);
  const bool is_nearest =
      how.mode == Interpolation::kNearest || how.mode == Interpolation::kNearestExact;
  return is_nearest ? nearest(input, sizes, how.mode)
                    : weighted(input, sizes, how.mode, how.align_corners, how.antialias);
}

}  // namespace

Tensor interpolate(const Tensor& input, std::optional<IntList> size,
                   std::optional<Span<const double>> scale_factor, Interpolation mode) {
  return interpolate_aligned(input, size, scale_factor, mode, {}, {}, false);
}

Tensor interpolate_aligned(const Tensor& input, std::optional<IntList> size,
                           std::optional<Span<const double>> scale_factor, Interpolation mode,
                           std::optional<bool> align_corners,
                           std::optional<bool> recompute_scale_factor, bool antialias) {
  const bool recomputes = recompute_scale_factor.value_or(false);
  check_alignment(mode, align_corners);
  check_recomputes(recomputes, size.has_value() && !scale_factor);
  check_antialias(input, mode, antialias, align_corners.value_or(false));
  return resize_images(input, size, scale_factor,
                       {mode, align_corners.value_or(false), antialias, !recomputes});
}

}  // namespace dt
