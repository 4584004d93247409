// Adaptive pooling: windows that cover a dimension as equally as can be. Where they are equal, they
// are usual ones. Otherwise each window gets a copy of its elements, and all as many as the
// largest, so that usual ones fit again; what a window has too many repeats its last element.
#include <numeric>

#include "core/ops/conv/window.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pool.gen.h"
#include "core/ops/pool/checks.h"
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

// On the device, so that it can be captured: [windows, 1] beginnings and ends, and what each place
// of a window [windows, largest] takes.
struct Places {
  Tensor begin, end, wanted, source;

  Places(const Cover& c, Device device) {
    const Tensor i =
        unsqueeze(arange(0, static_cast<double>(c.windows), 1, kIndexDType, device), 1);
    const Tensor k = arange(0, static_cast<double>(c.largest), 1, kIndexDType, device);
    begin = floor_divide(mul(i, c.elements), c.windows);
    end = floor_divide(add(mul(add(i, 1), c.elements), c.windows - 1), c.windows);
    wanted = add(begin, k);
    source = reshape(minimum(wanted, sub(end, 1)), {c.windows * c.largest});
  }
};

// Images lie in memory as the input does. PyTorch pools lines as images, and gives a view of them.
Tensor as_pooled(const Tensor& y, const Tensor& input, int dims) {
  if (dims == 1) return squeeze(as_pooled(unsqueeze(y, -2), unsqueeze(input, -2), 2), {{-2}});
  const bool last = dims == 2 && is_channels_last(input);
  return last ? contiguous(y, MemoryFormat::kChannelsLast) : y;
}

// The mean over windows of one dimension that are not equal.
Tensor mean_of_uneven(const Tensor& x, int dim, const Cover& cover) {
  if (cover.windows == 0) return narrow(x, dim, 0, 0);
  Dims sizes = x.sizes();
  sizes[dim] = cover.windows;
  sizes.insert(dim + 1, cover.largest);
  const Places places(cover, x.device());
  Dims each{cover.windows, cover.largest}, all{cover.windows};
  for (int d = dim + 1; d < x.ndim(); ++d) {
    each.push_back(1);
    all.push_back(1);
  }
  const Tensor outside = reshape(ge(places.wanted, places.end), each);
  const Tensor count = reshape(sub(places.end, places.begin), all);
  const Tensor elements = reshape(index_select(x, dim, places.source), sizes);
  return true_divide(sum(masked_fill(elements, outside, 0), {{dim + 1}}), count);
}

Tensor adaptive_avg(const char* op, const char* kernel, const Tensor& input, int dims,
                    IntList output_size) {
  const Dims windows = window_numbers("output_size", output_size, dims);
  check_adaptive_pool(op, kernel, dims, false, input, windows);
  const int first = input.ndim() - dims;
  if (!is_floating(input.dtype())) {  // without elements
    Dims sizes = input.sizes();
    for (int d = 0; d < dims; ++d) sizes[first + d] = windows[d];
    return zeros(sizes, input.dtype(), input.device());
  }
  // Of one window PyTorch takes the mean, whose gradient has no part of the graph.
  const Tensor x = is_mean_of_all(windows) ? input : constant_slope(input);
  Tensor y = to_dtype(x, info(input.dtype()).compute);
  Dims sizes, reduced;  // of y with each equal window as a dimension of its own
  for (int d = 0; d < input.ndim(); ++d) {
    const Cover cover(input.size(d), d < first ? input.size(d) : windows[d - first]);
    if (d >= first && !cover.is_even()) y = mean_of_uneven(y, d, cover);
    sizes.push_back(cover.windows);
    if (d < first || !cover.is_even()) continue;
    reduced.push_back(sizes.size());
    sizes.push_back(cover.elements / cover.windows);
  }
  if (!reduced.empty()) y = mean(reshape(y, sizes), IntList(reduced));
  return as_pooled(to_dtype(y, input.dtype()), input, dims);
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

using MaxPool = std::tuple<Tensor, Tensor> (*)(const Tensor&, IntList, std::optional<IntList>,
                                               IntList, IntList, bool);

std::tuple<Tensor, Tensor> adaptive_max(const char* op, const char* kernel, const Tensor& input,
                                        int dims, IntList output_size, MaxPool pool) {
  const Dims windows = window_numbers("output_size", output_size, dims);
  check_adaptive_pool(op, kernel, dims, true, input, windows);
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
    sources[d] = Places(cover, x.device()).source;
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
