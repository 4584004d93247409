// Resizing images by repeating or leaving out elements: one index_select per spatial dimension, so
// that the gradients of every order are those of index_select.
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/vision.gen.h"
#include "core/ops/vision/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"

namespace dt {
namespace {

// One spatial dimension of the input, and what becomes of it.
struct Resize {
  int64_t from = 0, to = 0;
  std::optional<double> factor;  // of the user's, who gave no size

  // How far the place in the input moves for each element of the output, in PyTorch's precision,
  // which decides which elements are taken. PyTorch's nearest overrides a factor that changes
  // nothing, or doubles the size, only nearly.
  float step(Interpolation mode) const {
    const bool whole = mode == Interpolation::kNearest && (to == from || to == 2 * from);
    if (factor && !whole) return static_cast<float>(1 / *factor);
    return static_cast<float>(from) / static_cast<float>(to);
  }
};

// The element of the input for each one of the output. It is computed on the device: a copy from
// here could not be captured.
Tensor sources(const Resize& r, Interpolation mode, Device device) {
  const double offset = mode == Interpolation::kNearestExact ? 0.5 : 0;
  const Tensor i = arange(offset, offset + static_cast<double>(r.to), 1, kRealDType, device);
  // The product is exact, so that this is PyTorch's rounding to float32.
  const Tensor place = to_dtype(mul(i, static_cast<double>(r.step(mode))), kDTypeOf<float>);
  return clamp_max(to_dtype(floor(place), kIndexDType), r.from - 1);
}

int64_t scaled(int64_t size, double factor) {
  const double result = static_cast<double>(size) * factor;
  check_scaled_size(result);
  return static_cast<int64_t>(result);
}

std::vector<Resize> resizes(const Tensor& x, std::optional<IntList> size,
                            std::optional<Span<const double>> factors) {
  check_resize_counts(x, size ? std::optional(size->size()) : std::nullopt,
                      factors ? std::optional(factors->size()) : std::nullopt);
  std::vector<Resize> out;
  for (int i = 0; i < x.ndim() - 2; ++i) {
    Resize r;
    r.from = x.size(i + 2);
    if (size) r.to = (*size)[size->size() == 1 ? 0 : i];
    if (factors) r.factor = (*factors)[factors->size() == 1 ? 0 : i];
    if (factors) r.to = scaled(r.from, *r.factor);
    check_resize(r.from, r.to, i + 2);
    out.push_back(r);
  }
  return out;
}

}  // namespace

Tensor interpolate(const Tensor& input, std::optional<IntList> size,
                   std::optional<Span<const double>> scale_factor, Interpolation mode) {
  check_interpolate(input);
  Tensor y = input;
  int dim = 2;
  for (const Resize& r : resizes(input, size, scale_factor))
    y = index_select(y, dim++, sources(r, mode, input.device()));
  const bool last = is_channels_last(input);
  return contiguous(y, last ? MemoryFormat::kChannelsLast : MemoryFormat::kContiguous);
}

}  // namespace dt
