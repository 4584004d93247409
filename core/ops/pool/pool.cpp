// Pooling of lines, images and volumes. A line is an image of one row; a volume is pooled in two
// steps, its frames and then along its depth.
#include "core/ops/pool.gen.h"

#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_activation.gen.h"
#include "core/ops/pool/checks.h"
#include "core/ops/pool/images.h"
#include "core/ops/pool/volumes.h"
#include "core/ops/views.gen.h"

#include "core/autograd/record.h"

namespace dt {
namespace {

Dims pool_numbers(const char* op, const char* name, IntList values, int dims) {
  check_pool_numbers(op, name, values, dims);
  return window_numbers(name, values, dims);
}

PoolSettings pool_settings(const char* op, int dims, IntList size, std::optional<IntList> stride,
                           IntList padding, IntList dilation, bool ceil_mode) {
  PoolSettings p;
  p.size = pool_numbers(op, "kernel_size", size, dims);
  // PyTorch takes an empty list for an absent one.
  p.stride = stride && !stride->empty() ? pool_numbers(op, "stride", *stride, dims) : p.size;
  p.padding = pool_numbers(op, "padding", padding, dims);
  p.dilation = pool_numbers(op, "dilation", dilation, dims);
  p.ceil_mode = ceil_mode;
  return p;
}

Pooling pooling_of_images(const PoolSettings& p) {
  return {Window(p.size, p.stride, p.padding, p.dilation), p.ceil_mode};
}

Pooling pooling_of_depth(const PoolSettings& p) {
  Pooling q{Window(p.size[0], 1), p.ceil_mode};
  q.links_gradient = false;  // the frames' pooling does, which comes before
  q.window.stride = {p.stride[0], 1};
  q.window.padding = {p.padding[0], 0};
  q.window.dilation = {p.dilation[0], 1};
  return q;
}

Dims pooled_sizes(const Tensor& x, const PoolSettings& p, const Pooling& images) {
  if (p.dims() == 1)
    return {x.size(0), x.size(1), images.window.output_size(1, x.size(2), p.ceil_mode)};
  if (p.dims() == 2) return images.output_sizes(x.sizes());
  const int64_t depth = pooling_of_depth(p).window.output_size(0, x.size(2), p.ceil_mode);
  return {x.size(0), x.size(1), depth, images.window.output_size(0, x.size(3), p.ceil_mode),
          images.window.output_size(1, x.size(4), p.ceil_mode)};
}

Tensor with_batch(const Tensor& input, int dims) {
  if (input.ndim() == dims + 2) return input;
  return dims == 2 ? batch_of_image(input) : unsqueeze(input, 0);
}

// A result of with_batch(input) as one of the input. Lines are views, as PyTorch's are.
Tensor as_input(const Tensor& y, const Tensor& input) {
  if (y.ndim() == input.ndim()) return y;
  if (y.ndim() == 3) return squeeze(y, {{0}});
  Dims sizes = y.sizes();
  sizes.erase(0);
  return unsafe_view(y, sizes);
}

Tensor as_image(const Tensor& line) {
  return unsqueeze(line, 2);
}

// A view of the image, as PyTorch's is.
Tensor as_line(const Tensor& image) {
  return squeeze(image, {{2}});
}

std::tuple<Tensor, Tensor> max_pool_batch(const Tensor& x, const PoolSettings& p,
                                          const Pooling& images) {
  if (p.dims() == 2) return max_pool_images(x, images);
  if (p.dims() == 3) return max_pool_volumes(x, images, pooling_of_depth(p));
  const auto [values, indices] = max_pool_images(as_image(x), images);
  return {as_line(values), as_line(indices)};
}

std::tuple<Tensor, Tensor> max_pool(const char* op, const Tensor& input, const PoolSettings& p) {
  check_pool_rank(op, p.dims(), input);
  const Tensor x = with_batch(input, p.dims());
  check_pool_window(op, p);
  const Pooling images = pooling_of_images(p);
  check_max_pool(op, input, x, pooled_sizes(x, p, images));
  auto results = max_pool_batch(x, p, images);
  if (x.ndim() == input.ndim()) return results;
  const auto& [values, indices] = results;
  return {as_input(values, input), as_input(indices, input)};
}

Tensor avg_pool(const char* op, const Tensor& input, const PoolSettings& p, bool count_include_pad,
                std::optional<int64_t> divisor) {
  check_pool_rank(op, p.dims(), input);
  check_pool_divisor(divisor);
  const Tensor x = with_batch(input, p.dims());
  check_pool_window(op, p);
  Pooling images = pooling_of_images(p);
  check_avg_pool(op, input, x, p, pooled_sizes(x, p, images));
  images.count_include_pad = count_include_pad;
  images.divisor = divisor.value_or(0);
  if (p.dims() == 3) return as_input(avg_pool_volumes(x, images, pooling_of_depth(p)), input);
  if (p.dims() == 2) return as_input(avg_pool_images(x, images), input);
  return as_input(as_line(avg_pool_images(as_image(x), images)), input);
}

// sign(x) * relu(abs(x)) is what PyTorch writes for "0 where the sum is negative".
Tensor lp_pool(const char* op, const Tensor& input, double p, const PoolSettings& settings) {
  const auto largest = [&](const Tensor& x) { return std::get<0>(max_pool(op, x, settings)); };
  if (std::isinf(p)) return p > 0 ? largest(abs(input)) : neg(largest(neg(abs(input))));
  const DType dtype = input.dtype(), wide = info(dtype).compute;
  if (is_floating(dtype) && wide != dtype)
    return to_dtype(lp_pool(op, to_dtype(input, wide), p, settings), dtype);
  const Tensor means = avg_pool(op, pow(input, p), settings, true, {});
  double count = 1;
  for (int64_t n : settings.size) count *= static_cast<double>(n);
  return pow(mul(mul(sign(means), relu(abs(means))), count), 1 / p);
}

// The spatial sizes before a pooling gave `x`.
Dims unpooled_sizes(const Tensor& x, const PoolSettings& p, std::optional<IntList> asked) {
  Dims usual, sizes;
  for (int d = 0; d < p.dims(); ++d)
    usual.push_back((x.size(d + 2) - 1) * p.stride[d] - 2 * p.padding[d] + p.size[d]);
  if (!asked) return usual;
  check_unpooled_count(p.dims(), asked->size());
  for (int64_t d = asked->size() - p.dims(); d < asked->size(); ++d) sizes.push_back((*asked)[d]);
  check_unpooled_sizes(sizes, usual, p.stride);
  return sizes;
}

Tensor max_unpool(const Tensor& input, const Tensor& indices, const PoolSettings& p,
                  std::optional<IntList> output_size) {
  check_unpool(p.dims(), input, indices);
  const Tensor x = with_batch(input, p.dims());
  const Dims spatial = unpooled_sizes(x, p, output_size);
  const Dims channels{x.size(0), x.size(1)};
  Dims sizes = channels, plane = channels, points = channels;
  for (int64_t n : spatial) sizes.push_back(n);
  plane.push_back(count_elements(spatial));
  points.push_back(count_elements(IntList(x.sizes().data() + 2, p.dims())));
  const Tensor zero = zeros(plane, x.dtype(), x.device());
  const Tensor y = [&] {
    try {
      return scatter(zero, 2, reshape(indices, points), reshape(x, points));
    } catch (const Error&) {
      if (indices.device() == kCpu) check_unpooled_indices(indices, spatial);
      throw;
    }
  }();
  const Tensor images = as_input(unsafe_view(y, sizes), input);
  const Tensor result =
      is_channels_last(input) ? contiguous(images, MemoryFormat::kChannelsLast) : images;
  return p.dims() == 1 ? view(result, result.sizes()) : result;
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, IntList kernel_size,
                                                   std::optional<IntList> stride, IntList padding,
                                                   IntList dilation, bool ceil_mode) {
  const char* const op = "max_pool1d_with_indices";
  return max_pool(op, input,
                  pool_settings(op, 1, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor max_pool1d(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                  IntList padding, IntList dilation, bool ceil_mode) {
  const char* const op = "max_pool1d";
  const Tensor y = std::get<0>(
      max_pool(op, input, pool_settings(op, 1, kernel_size, stride, padding, dilation, ceil_mode)));
  if (needs_graph(input)) return y;
  return unsafe_view(contiguous(y), y.sizes());  // PyTorch has a kernel for that
}

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, IntList kernel_size,
                                                   std::optional<IntList> stride, IntList padding,
                                                   IntList dilation, bool ceil_mode) {
  return max_pool(
      "max_pool2d", input,
      pool_settings("max_pool2d", 2, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor max_pool2d(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                  IntList padding, IntList dilation, bool ceil_mode) {
  return std::get<0>(
      max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode));
}

std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, IntList kernel_size,
                                                   std::optional<IntList> stride, IntList padding,
                                                   IntList dilation, bool ceil_mode) {
  return max_pool(
      "max_pool3d", input,
      pool_settings("max_pool3d", 3, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor max_pool3d(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                  IntList padding, IntList dilation, bool ceil_mode) {
  return std::get<0>(
      max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode));
}

Tensor avg_pool1d(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                  IntList padding, bool ceil_mode, bool count_include_pad) {
  return avg_pool("avg_pool1d", input,
                  pool_settings("avg_pool1d", 1, kernel_size, stride, padding, {1}, ceil_mode),
                  count_include_pad, {});
}

Tensor avg_pool2d(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                  IntList padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  return avg_pool("avg_pool2d", input,
                  pool_settings("avg_pool2d", 2, kernel_size, stride, padding, {1}, ceil_mode),
                  count_include_pad, divisor_override);
}

Tensor avg_pool3d(const Tensor& input, IntList kernel_size, std::optional<IntList> stride,
                  IntList padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  return avg_pool("avg_pool3d", input,
                  pool_settings("avg_pool3d", 3, kernel_size, stride, padding, {1}, ceil_mode),
                  count_include_pad, divisor_override);
}

Tensor lp_pool1d(const Tensor& input, double norm_type, IntList kernel_size,
                 std::optional<IntList> stride, bool ceil_mode) {
  const PoolSettings p = pool_settings("lp_pool1d", 1, kernel_size, stride, {0}, {1}, ceil_mode);
  return lp_pool("lp_pool1d", input, norm_type, p);
}

Tensor lp_pool2d(const Tensor& input, double norm_type, IntList kernel_size,
                 std::optional<IntList> stride, bool ceil_mode) {
  const PoolSettings p = pool_settings("lp_pool2d", 2, kernel_size, stride, {0}, {1}, ceil_mode);
  return lp_pool("lp_pool2d", input, norm_type, p);
}

Tensor lp_pool3d(const Tensor& input, double norm_type, IntList kernel_size,
                 std::optional<IntList> stride, bool ceil_mode) {
  const PoolSettings p = pool_settings("lp_pool3d", 3, kernel_size, stride, {0}, {1}, ceil_mode);
  return lp_pool("lp_pool3d", input, norm_type, p);
}

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, IntList kernel_size,
                    std::optional<IntList> stride, IntList padding,
                    std::optional<IntList> output_size) {
  return max_unpool(input, indices,
                    pool_settings("max_unpool1d", 1, kernel_size, stride, padding, {1}, false),
                    output_size);
}

Tensor max_unpool2d(const Tensor& input, const Tensor& indices, IntList kernel_size,
                    std::optional<IntList> stride, IntList padding,
                    std::optional<IntList> output_size) {
  return max_unpool(input, indices,
                    pool_settings("max_unpool2d", 2, kernel_size, stride, padding, {1}, false),
                    output_size);
}

Tensor max_unpool3d(const Tensor& input, const Tensor& indices, IntList kernel_size,
                    std::optional<IntList> stride, IntList padding,
                    std::optional<IntList> output_size) {
  return max_unpool(input, indices,
                    pool_settings("max_unpool3d", 3, kernel_size, stride, padding, {1}, false),
                    output_size);
}

}  // namespace dt
