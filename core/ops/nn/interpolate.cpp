// Resizing images by repeating or leaving out elements: one index_select per spatial dimension, so
// that the gradients of every order are those of index_select.
#include <cmath>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/nn.gen.h"
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

// One number stands for all spatial dimensions.
void check_count(const Tensor& x, int64_t given, const char* what) {
  const int spatial = x.ndim() - 2;
  DT_CHECK(given == 1 || given == spatial, kValueError, "Input and ", what,
           " must have the same number of spatial dimensions, but got input with spatial "
           "dimensions of ",
           IntList(x.sizes().begin() + 2, spatial), " and ", given, " numbers");
}

int64_t scaled(int64_t size, double factor) {
  const double result = static_cast<double>(size) * factor;
  DT_CHECK(std::abs(result) < 9e18, kRuntimeError,
           "value cannot be converted to type int64_t without overflow");
  return static_cast<int64_t>(result);
}

std::vector<Resize> resizes(const Tensor& x, std::optional<IntList> size,
                            std::optional<Span<const double>> factors) {
  DT_CHECK(size || factors, kValueError, "either size or scale_factor should be defined");
  DT_CHECK(!size || !factors, kValueError, "only one of size or scale_factor should be defined");
  if (size) check_count(x, size->size(), "output");
  if (factors) check_count(x, factors->size(), "scale_factor");
  std::vector<Resize> out;
  for (int i = 0; i < x.ndim() - 2; ++i) {
    Resize r;
    r.from = x.size(i + 2);
    if (size) r.to = (*size)[size->size() == 1 ? 0 : i];
    if (factors) r.factor = (*factors)[factors->size() == 1 ? 0 : i];
    if (factors) r.to = scaled(r.from, *r.factor);
    DT_CHECK(r.from > 0 && r.to > 0, kRuntimeError,
             "Input and output sizes should be greater than 0, but got input ", r.from,
             " and output ", r.to, " at dimension ", i + 2);
    out.push_back(r);
  }
  return out;
}

void check_input(const Tensor& x) {
  const int n = x.ndim();
  DT_CHECK(n >= 3 && n <= 5, kNotImplemented,
           "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", n,
           "D) for the modes: nearest | nearest-exact");
  DT_CHECK(x.size(1) > 0, kRuntimeError, "Non-empty ", n,
           "D data tensor expected but got a tensor with sizes ", x.sizes());
  DT_CHECK(is_floating(x.dtype()) || x.dtype() == kByteDType, kNotImplemented, "\"upsample_nearest",
           n - 2, "d\" not implemented for '", type_word(x.dtype()), "'");
}

}  // namespace

Tensor interpolate(const Tensor& input, std::optional<IntList> size,
                   std::optional<Span<const double>> scale_factor, Interpolation mode) {
  check_input(input);
  Tensor y = input;
  int dim = 2;
  for (const Resize& r : resizes(input, size, scale_factor))
    y = index_select(y, dim++, sources(r, mode, input.device()));
  const bool last = is_channels_last(input);
  return contiguous(y, last ? MemoryFormat::kChannelsLast : MemoryFormat::kContiguous);
}

}  // namespace dt
