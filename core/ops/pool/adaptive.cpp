// Adaptive pooling: windows that cover a dimension as equally as can be. Kernels know them for
// images. For maxima of volumes they are usual windows where they are equal. Otherwise each window
// gets a copy of its elements, and all as many as the largest, so that usual ones fit again; what a
// window has too many repeats its last element.
#include <numeric>

#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pool.gen.h"
#include "core/ops/pool/checks.h"
#include "core/ops/pool/images.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// The windows of one dimension.
struct Cover {
  int64_t elements, windows, largest;  // the largest window

  // Window i ends (r + n) / w, rounded up, behind its beginning: n / w is elements / windows in
  // lowest terms and r the remainder of i * n by w, which is w - 1 at most.
  Cover(int64_t elements, int64_t windows) : elements(elements), windows(windows), largest(0) {
    if (windows == 0) return;
    const int64_t common = std::gcd(elements, windows);
    const int64_t n = elements / common, w = windows / common;
    largest = std::max<int64_t>(1, (n + w - 1 + w - 1) / w);
  }
  bool is_even() const { return windows > 0 && elements % windows == 0; }
};

// What each place of windows [windows, largest] takes; made on the device, so that it can be
// captured.
Tensor places(const Cover& c, Device device) {
  const Tensor i = unsqueeze(arange(0, static_cast<double>(c.windows), 1, kIndexDType, device), 1);
  const Tensor k = arange(0, static_cast<double>(c.largest), 1, kIndexDType, device);
  const Tensor begin = floor_divide(mul(i, c.elements), c.windows);
  const Tensor end = floor_divide(add(mul(add(i, 1), c.elements), c.windows - 1), c.windows);
  return reshape(minimum(add(begin, k), sub(end, 1)), {c.windows * c.largest});
}

// Images lie in memory as the input does. PyTorch pools lines as images, and gives a view of them.
Tensor as_pooled(const Tensor& y, const Tensor& input, int dims) {
  if (dims == 1) return squeeze(as_pooled(unsqueeze(y, -2), unsqueeze(input, -2), 2), {{-2}});
  const bool last = dims == 2 && is_channels_last(input);
  return last ? contiguous(y, MemoryFormat::kChannelsLast) : y;
}

// Of windows that cover the rows and the columns of images.
Pooling cover_of(const Tensor& images, const IntPair& windows) {
  Pooling p{Window(1, 1)};
  p.windows = windows;
  for (int d = 0; d < 2; ++d) {
    p.window.size[d] = Cover(images.size(2 + d), windows[d]).largest;
    p.window.stride[d] = 0;
  }
  return p;
}

// Means of the means of frames, which all lie in as many of the windows along the depth. Those are
// of images whose height is the depth.
Tensor cover_volumes(const Tensor& x, const Dims& windows) {
  const Dims& n = x.sizes();
  // The means of narrow floats are not rounded between the steps.
  const Tensor wide = to_dtype(x, info(x.dtype()).compute);
  const Tensor frames = reshape(wide, {n[0], n[1] * n[2], n[3], n[4]});
  const Tensor in_frame = avg_pool_images(frames, cover_of(frames, {windows[1], windows[2]}));
  const Tensor columns = reshape(in_frame, {n[0], n[1], n[2], windows[1] * windows[2]});
  Pooling depth = cover_of(columns, {windows[0], 1});
  depth.window.size[1] = depth.window.stride[1] = 1;  // each column by itself
  depth.links_gradient = false;                       // that of the frames does
  const Tensor y = avg_pool_images(columns, depth);
  return to_dtype(unsafe_view(y, {n[0], n[1], windows[0], windows[1], windows[2]}), x.dtype());
}

Dims adaptive_windows(const char* op, const Tensor& input, int dims, IntList output_size) {
  if (dims == 1) {
    check_lines(op, input);
    check_one_number("output_size", output_size);
  }
  return window_numbers("output_size", output_size, dims);
}

Tensor mean_of_all(const Tensor& x, int dims) {
  Dims reduced;
  for (int d = x.ndim() - dims; d < x.ndim(); ++d) reduced.push_back(d);
  return mean(x, IntList(reduced), true);
}

Tensor adaptive_avg(const char* op, const char* kernel, const Tensor& input, int dims,
                    IntList output_size) {
  const Dims windows = adaptive_windows(op, input, dims, output_size);
  check_adaptive_pool(op, kernel, dims, false, input, windows);
  const int first = input.ndim() - dims;
  if (!is_floating(input.dtype())) {  // without elements
    Dims sizes = input.sizes();
    for (int d = 0; d < dims; ++d) sizes[first + d] = windows[d];
    return zeros(sizes, input.dtype(), input.device());
  }
  if (is_mean_of_all(windows)) return as_pooled(mean_of_all(input, dims), input, dims);
  if (dims == 1) {  // an image of one row, and a view of its means, as PyTorch's is
    const Tensor image = unsqueeze(input, -2);
    return squeeze(adaptive_avg(op, kernel, image, 2, {1, windows[0]}), {{-2}});
  }
  const bool has_batch = input.ndim() == dims + 2;
  const Tensor x = has_batch ? input : dims == 2 ? batch_of_image(input) : unsqueeze(input, 0);
  const Tensor y = dims == 2 ? avg_pool_images(x, cover_of(x, {windows[0], windows[1]}))
                             : cover_volumes(x, windows);
  if (has_batch) return y;
  Dims sizes = y.sizes();
  sizes.erase(0);
  return unsafe_view(y, sizes);
}

// Places in the planes of copies as places in the input's: `sources` are where each dimension's
// elements come from, undefined where it was not copied.
Tensor places_in_input(const Tensor& places, const Tensor& input,
                       const std::vector<Tensor>& sources, const Dims& copied) {
  const int dims = copied.size();
  Tensor rest = reshape(places, {-1}), result;
  std::vector<Tensor> at(dims);
  for (int d = dims - 1; d >= 0; --d) {
    at[d] = remainder(rest, copied[d]);
    rest = floor_divide(rest, copied[d]);
    if (sources[d].defined()) at[d] = index_select(sources[d], 0, at[d]);
  }
  for (int d = 0; d < dims; ++d)
    result = d == 0 ? at[0] : add(mul(result, input.size(d - dims)), at[d]);
  return unsafe_view(result, places.sizes());
}

// Elements of x's planes, which its last dimensions are, by their places there.
Tensor elements_at(const Tensor& x, const Tensor& places, int dims) {
  const int first = x.ndim() - dims;
  Dims planes(IntList(x.sizes().data(), first)), points = planes;
  planes.push_back(count_elements(IntList(x.sizes().data() + first, dims)));
  points.push_back(count_elements(IntList(places.sizes().data() + first, dims)));
  return unsafe_view(gather(reshape(x, planes), first, reshape(places, points)), places.sizes());
}

// Whether a kernel knows these windows: they are not equal, and there are some.
bool has_uneven_kernel(const Tensor& input, const Dims& windows) {
  if (windows.size() > 2) return false;
  bool is_even = true;
  for (int d = 0; d < windows.size(); ++d)
    is_even &= Cover(input.size(d - windows.size()), windows[d]).is_even();
  return !is_even && count_elements(windows) != 0 && input.numel() != 0;
}

// Maxima of images, and of lines as images of one row, of which PyTorch gives a view.
std::tuple<Tensor, Tensor> uneven_max(const Tensor& input, const Dims& windows) {
  if (windows.size() == 1) {
    const auto [values, places] = uneven_max(unsqueeze(input, -2), {1, windows[0]});
    return {squeeze(values, {{-2}}), squeeze(places, {{-2}})};
  }
  const bool has_batch = input.ndim() == 4;
  const Tensor x = has_batch ? input : batch_of_image(input);
  const auto [values, places] = max_pool_images(x, cover_of(x, {windows[0], windows[1]}));
  if (has_batch) return {values, places};
  const Dims sizes = {input.size(0), windows[0], windows[1]};
  return {unsafe_view(values, sizes), unsafe_view(places, sizes)};
}

using MaxPool = std::tuple<Tensor, Tensor> (*)(const Tensor&, IntList, std::optional<IntList>,
                                               IntList, IntList, bool);

std::tuple<Tensor, Tensor> adaptive_max(const char* op, const char* kernel, const Tensor& input,
                                        int dims, IntList output_size, MaxPool pool) {
  const Dims windows = adaptive_windows(op, input, dims, output_size);
  check_adaptive_pool(op, kernel, dims, true, input, windows);
  if (has_uneven_kernel(input, windows)) return uneven_max(input, windows);
  const int first = input.ndim() - dims;
  Tensor x = input;
  std::vector<Tensor> sources(dims);
  Dims size, sizes = input.sizes();
  bool is_copied = false;
  for (int d = 0; d < dims; ++d) {
    const Cover cover(input.size(first + d), windows[d]);
    sizes[first + d] = cover.windows;
    size.push_back(cover.is_even() ? cover.elements / cover.windows : cover.largest);
    if (cover.is_even() || cover.windows == 0) continue;
    is_copied = true;
    sources[d] = places(cover, x.device());
    x = index_select(x.detach(), first + d, sources[d]);
  }
  const bool has_no_channels = input.ndim() == dims + 1 && input.size(0) == 0;
  if (count_elements(windows) == 0 || has_no_channels) {
    const Tensor none = clone(reshape(narrow(reshape(input, {-1}), 0, 0, 0), sizes));
    return {as_pooled(none, input, dims),
            as_pooled(zeros(sizes, kIndexDType, x.device()), input, dims)};
  }
  const auto [values, places] = pool(x, size, {}, {0}, {1}, false);
  if (!is_copied) return {as_pooled(values, input, dims), as_pooled(places, input, dims)};
  // A gradient goes to the input's places at once: the graph knows nothing of the copies.
  const Dims copied(IntList(x.sizes().data() + first, dims));
  const Tensor taken = places_in_input(places, input, sources, copied);
  return {as_pooled(elements_at(constant_slope(input), taken, dims), input, dims),
          as_pooled(taken, input, dims)};
}

}  // namespace

Tensor adaptive_avg_pool1d(const Tensor& input, IntList output_size) {
  return adaptive_avg("adaptive_avg_pool1d", "adaptive_avg_pool2d", input, 1, output_size);
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            IntList output_size) {
  return adaptive_max("adaptive_max_pool1d", "adaptive_max_pool2d", input, 1, output_size,
                      max_pool1d_with_indices);
}

Tensor adaptive_max_pool1d(const Tensor& input, IntList output_size) {
  return std::get<0>(adaptive_max_pool1d_with_indices(input, output_size));
}

Tensor adaptive_avg_pool2d(const Tensor& input, IntList output_size) {
  return adaptive_avg("adaptive_avg_pool2d", "adaptive_avg_pool2d", input, 2, output_size);
}

std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            IntList output_size) {
  return adaptive_max("adaptive_max_pool2d", "adaptive_max_pool2d", input, 2, output_size,
                      max_pool2d_with_indices);
}

Tensor adaptive_max_pool2d(const Tensor& input, IntList output_size) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, output_size));
}

Tensor adaptive_avg_pool3d(const Tensor& input, IntList output_size) {
  return adaptive_avg("adaptive_avg_pool3d", "adaptive_avg_pool3d_cpu", input, 3, output_size);
}

std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            IntList output_size) {
  return adaptive_max("adaptive_max_pool3d", "adaptive_max_pool3d_cpu", input, 3, output_size,
                      max_pool3d_with_indices);
}

Tensor adaptive_max_pool3d(const Tensor& input, IntList output_size) {
  return std::get<0>(adaptive_max_pool3d_with_indices(input, output_size));
}

}  // namespace dt
