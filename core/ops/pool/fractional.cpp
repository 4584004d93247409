// Pooling of windows at pseudo-random distances: the places of all windows are worked out, and
// their elements gathered.
#include "core/ops/conv/window.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pool.gen.h"
#include "core/ops/pool/checks.h"
#include "core/ops/random.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

struct Fractional {
  int dims;
  Dims kernel, output;
};

Tensor count_up(int64_t n, DType dtype, Device device) {
  return arange(0, static_cast<double>(n), 1, dtype, device);
}

// Where the windows of one dimension begin: [batch, channels, windows].
Tensor beginnings(const Tensor& sample, int64_t size, int64_t windows, int64_t kernel) {
  const Tensor u = unsqueeze(sample, 2), i = count_up(windows, sample.dtype(), sample.device());
  const double room = static_cast<double>(size - kernel);
  const double step = windows > 1 ? room / static_cast<double>(windows - 1) : 0;
  const Tensor begin =
      sub(to_dtype(mul(add(u, i), step), kIndexDType), to_dtype(mul(u, step), kIndexDType));
  return where(eq(i, windows - 1), size - kernel, begin);
}

// In the planes of x [batch, channels, ...]: [batch, channels, windows, elements of a window].
Tensor window_places(const Tensor& x, const Tensor& samples, const Fractional& f) {
  Tensor all;
  int64_t windows = 1, elements = 1;
  for (int d = 0; d < f.dims; ++d) {
    const int64_t size = x.size(d + 2);
    // PyTorch's first sample of an image is that of its width.
    const Tensor sample = select(samples, 2, f.dims == 2 ? 1 - d : d);
    const Tensor begin = beginnings(sample, size, f.output[d], f.kernel[d]);
    Dims outer{x.size(0), x.size(1)}, inner;
    for (int e = 0; e < f.dims; ++e) outer.push_back(e == d ? f.output[d] : 1);
    for (int e = 0; e < f.dims; ++e) {
      outer.push_back(1);
      inner.push_back(e == d ? f.kernel[d] : 1);
    }
    const Tensor offset = reshape(count_up(f.kernel[d], kIndexDType, x.device()), inner);
    const Tensor place = add(reshape(begin, outer), offset);
    all = d == 0 ? place : add(mul(all, size), place);
    windows *= f.output[d], elements *= f.kernel[d];
  }
  return reshape(all, {x.size(0), x.size(1), windows, elements});
}

Dims chosen_sizes(const char* op, const Tensor& x, int dims, std::optional<IntList> sizes,
                  std::optional<Span<const double>> ratios) {
  check_fractional_choice(op, sizes.has_value() || ratios.has_value());
  if (sizes) {
    check_pool_numbers(op, "output_size", *sizes, dims);
    return window_numbers("output_size", *sizes, dims);
  }
  check_ratio_count(op, ratios->size(), dims);
  Dims out;
  for (int d = 0; d < dims; ++d) {
    const double ratio = (*ratios)[ratios->size() == 1 ? 0 : d];
    out.push_back(static_cast<int64_t>(static_cast<double>(x.size(d - dims)) * ratio));
  }
  return out;
}

std::tuple<Tensor, Tensor> fractional_max_pool(const char* op, int dims, const Tensor& input,
                                               IntList kernel_size,
                                               std::optional<IntList> output_size,
                                               std::optional<Span<const double>> output_ratio,
                                               const Tensor& random_samples) {
  check_pool_numbers(op, "kernel_size", kernel_size, dims);
  check_fractional_rank(op, dims, input);
  const Fractional f{dims, window_numbers("kernel_size", kernel_size, dims),
                     chosen_sizes(op, input, dims, output_size, output_ratio)};
  const bool is_batched = input.ndim() == dims + 2;
  const Tensor x = constant_slope(is_batched ? input : unsqueeze(input, 0));
  const Tensor samples = random_samples.defined()
                             ? random_samples
                             : rand({x.size(0), x.size(1), dims}, {}, x.dtype(), x.device());
  check_fractional_pool(op, x, f.kernel, f.output, samples);
  const Tensor u = to_dtype(narrow(samples, 0, 0, x.size(0)), info(x.dtype()).compute);
  const Tensor places = window_places(x, u, f);
  const Dims& n = places.sizes();
  const Tensor planes = reshape(x, {n[0], n[1], n[0] * n[1] == 0 ? 0 : x.numel() / (n[0] * n[1])});
  const Tensor elements = reshape(gather(planes, 2, reshape(places, {n[0], n[1], n[2] * n[3]})), n);
  const auto [values, which] = max_dim(elements, 3, false);
  const Tensor indices = gather(places, 3, unsqueeze(which, 3));
  Dims sizes = is_batched ? Dims{n[0], n[1]} : Dims{n[1]};
  for (int64_t windows : f.output) sizes.push_back(windows);
  return {unsafe_view(values, sizes), unsafe_view(indices, sizes)};
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(
    const Tensor& input, IntList kernel_size, std::optional<IntList> output_size,
    std::optional<Span<const double>> output_ratio, const Tensor& random_samples) {
  return fractional_max_pool("fractional_max_pool2d", 2, input, kernel_size, output_size,
                             output_ratio, random_samples);
}

Tensor fractional_max_pool2d(const Tensor& input, IntList kernel_size,
                             std::optional<IntList> output_size,
                             std::optional<Span<const double>> output_ratio,
                             const Tensor& random_samples) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, kernel_size, output_size,
                                                        output_ratio, random_samples));
}

std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(
    const Tensor& input, IntList kernel_size, std::optional<IntList> output_size,
    std::optional<Span<const double>> output_ratio, const Tensor& random_samples) {
  return fractional_max_pool("fractional_max_pool3d", 3, input, kernel_size, output_size,
                             output_ratio, random_samples);
}

Tensor fractional_max_pool3d(const Tensor& input, IntList kernel_size,
                             std::optional<IntList> output_size,
                             std::optional<Span<const double>> output_ratio,
                             const Tensor& random_samples) {
  return std::get<0>(fractional_max_pool3d_with_indices(input, kernel_size, output_size,
                                                        output_ratio, random_samples));
}

}  // namespace dt
