// Sampling at places of a grid. The composition says what it means and has the derivatives of all
// orders: along each dimension a place is made of a few elements, which are gathered.
#include "core/autograd/fused.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/vision.gen.h"
#include "core/ops/vision/checks.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/vision.gen.h"

namespace dt {
namespace {

enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };  // as the kernels have it

struct Sampling {
  int64_t reach;  // of the filter: 0 nearest, 1 linear, 2 cubic
  Padding padding;
  bool align_corners;
};

// ---- the composition

// Of one dimension; the tensors are [n, places].
struct Tap {
  Tensor at, weight;
};

struct GridDim {
  int64_t size;
  Sampling how;
  bool of_volume;

  std::vector<Tap> taps(const Tensor& coordinate) const {
    const double scale = static_cast<double>(how.align_corners ? size - 1 : size) / 2;
    const Tensor place = (coordinate + 1) * scale - (how.align_corners ? 0 : 0.5);
    if (how.reach == 2) return cubic_taps(place);
    const Tensor at = padded(place);
    // Of weight 1 everywhere: its gradient is 0, not absent.
    if (how.reach == 0) return {{round(at), masked_fill(at, eq(at.detach(), at.detach()), 1)}};
    const Tensor first = floor(at), rest = at - first;
    return {{first, 1 - rest}, {first + 1, rest}};
  }

 private:
  Tensor reflected(const Tensor& place) const {
    const double low = how.align_corners ? 0 : -0.5;
    const auto span = static_cast<double>(how.align_corners ? size - 1 : size);
    if (span == 0) return place * 0;
    const Tensor distance = abs(place - low), turns = floor(distance / span);
    const Tensor rest = distance - turns * span;
    return where(eq(remainder(turns, 2), 0), rest, span - rest) + low;
  }
  Tensor padded(const Tensor& place) const {
    if (how.padding == kZeros) {
      // Infinitely far from a volume there is nothing, wherever that is outside.
      const bool may_be_far = of_volume && how.reach == 1;
      return may_be_far ? where(isfinite(place.detach()), place, -2) : place;
    }
    const Tensor inside = how.padding == kReflection ? reflected(place) : place;
    // What lies at an edge counts as outside: it has no slope.
    const Tensor between = logical_and(gt(inside, 0), lt(inside, size - 1));
    return where(between, inside, clamp_max(clamp_min(inside.detach(), 0), size - 1));
  }
  std::vector<Tap> cubic_taps(const Tensor& place) const {
    const Tensor first = floor(place), t = place - first;
    const auto near = [](const Tensor& x) { return (1.25 * x - 2.25) * x * x + 1; };
    const auto far = [](const Tensor& x) { return ((3.75 - 0.75 * x) * x - 6) * x + 3; };
    return {{padded(first - 1), far(t + 1)},
            {padded(first), near(t)},
            {padded(first + 1), near(1 - t)},
            {padded(first + 2), far(2 - t)}};
  }
};

// x [n, channels, ...] and grid [n, ..., dims].
Tensor composition(const Tensor& x, const Tensor& grid, Sampling how) {
  const int dims = x.ndim() - 2;
  const int64_t n = x.size(0), channels = x.size(1);
  int64_t places = 1, plane = 1;
  Dims sizes{n, channels};
  for (int d = 0; d < dims; ++d) {
    places *= grid.size(d + 1), plane *= x.size(d + 2);
    sizes.push_back(grid.size(d + 1));
  }
  const Tensor coordinates = reshape(grid, {n, places, dims}),
               planes = reshape(x, {n, channels, plane});
  // Products of the taps of the dimensions so far.
  const Tensor none = full({1, 1}, 0, x.dtype(), x.device());
  std::vector<Tap> all{{none, none + 1}};
  for (int d = 0; d < dims; ++d) {
    const int64_t size = x.size(d + 2);
    std::vector<Tap> next;
    for (const Tap& of : GridDim{size, how, dims == 3}.taps(select(coordinates, 2, dims - 1 - d))) {
      const Tensor inside = logical_and(ge(of.at, 0), lt(of.at, size));
      const Tensor at = to_dtype(where(inside, of.at, 0), kIndexDType);
      const Tensor weight = of.weight * to_dtype(inside, x.dtype());
      for (const Tap& before : all) {
        const Tensor offset = add(mul(to_dtype(before.at, kIndexDType), size), at);
        next.push_back({offset, before.weight * weight});
      }
    }
    all = std::move(next);
  }
  Tensor y;
  for (const Tap& tap : all) {
    const Tensor index = expand(unsqueeze(tap.at, 1), {n, channels, places});
    const Tensor term = gather(planes, 2, index) * unsqueeze(tap.weight, 1);
    y = y.defined() ? y + term : term;
  }
  return reshape(y, sizes);
}

// ---- the kernels

bool fast_backward(BackwardCall& b, const Tensor& x, const Tensor& grid, Sampling how) {
  if (b.create_graph) return false;
  const Tensor g = contiguous(b.grad());
  Tensor gx, ggrid;
  if (b.wants(0)) gx = make_empty(x.sizes(), x.dtype(), x.device());
  if (b.wants(1)) ggrid = make_empty(grid.sizes(), x.dtype(), x.device());
  GridSampleBackwardCall call;
  call.gx = gx;
  call.ggrid = ggrid;
  call.g = g;
  call.x = x;
  call.grid = grid;
  call.reach = how.reach;
  call.padding = how.padding;
  call.align_corners = how.align_corners;
  if (!run_shortcut(op::grid_sample_backward, call)) return false;
  b.results[0] = gx;
  b.results[1] = ggrid;
  return true;
}

// Both are contiguous.
Tensor sample(const Tensor& x, const Tensor& grid, Sampling how) {
  Dims sizes{x.size(0), x.size(1)};
  for (int d = 1; d < grid.ndim() - 1; ++d) sizes.push_back(grid.size(d));
  const Tensor y = make_empty(sizes, x.dtype(), x.device());
  GridSampleCall call;
  call.y = y;
  call.x = x;
  call.grid = grid;
  call.reach = how.reach;
  call.padding = how.padding;
  call.align_corners = how.align_corners;
  if (y.numel() > 0) run(op::grid_sample, call);
  if (!needs_graph({x, grid})) return y;
  return record(
      "GridSamplerBackward0", y, {x, grid},
      [how, saved = std::vector<Saved>{Saved::input(x), Saved::input(grid)}](BackwardCall& b) {
        if (fast_backward(b, saved[0].get(b.node), saved[1].get(b.node), how)) return;
        const GradMode on(true);
        backward_by_composition(b, saved, [how](const std::vector<Tensor>& in) {
          return composition(in[0], in[1], how);
        });
      });
}

// [size]: where elements of an image lie between -1 and 1.
Tensor even_places(int64_t size, bool align_corners, const Tensor& like) {
  const auto n = static_cast<double>(size);
  const Tensor i = arange(0, n, 1, like.dtype(), like.device());
  if (align_corners) return size > 1 ? i * (2 / (n - 1)) - 1 : i;
  return (2 * i + 1) / n - 1;
}

}  // namespace

Tensor grid_sample(const Tensor& input, const Tensor& grid, const std::string& mode,
                   const std::string& padding_mode, std::optional<bool> align_corners) {
  check_sampling_words(mode, padding_mode);
  check_grid_sample(input, grid, mode == "bicubic");
  const Sampling how{mode == "nearest"    ? 0
                     : mode == "bilinear" ? 1
                                          : 2,
                     padding_mode == "zeros"    ? kZeros
                     : padding_mode == "border" ? kBorder
                                                : kReflection,
                     align_corners.value_or(false)};
  const DType wide = info(input.dtype()).compute;
  const Tensor x = contiguous(to_dtype(input, wide)), places = contiguous(to_dtype(grid, wide));
  return to_dtype(sample(x, places, how), input.dtype());
}

namespace {

// The places of the elements of images of `size` in homogeneous coordinates, in the dtype of
// `like`: [batch, elements, dims + 1].
Tensor homogeneous_places(const Dims& size, bool align_corners, const Tensor& like) {
  const int dims = size.size() - 2;
  std::vector<Tensor> coordinates;
  for (int d = dims - 1; d >= 0; --d) {
    Dims along(dims, 1), all(IntList(size.data() + 2, dims));
    along[d] = size[d + 2];
    const Tensor places = even_places(size[d + 2], align_corners, like);
    coordinates.push_back(reshape(expand(reshape(places, along), all), {-1, 1}));
  }
  coordinates.push_back(ones_like(coordinates[0]));
  return expand(unsqueeze(cat(coordinates, 1), 0), {size[0], coordinates[0].size(0), dims + 1});
}

}  // namespace

Tensor affine_grid(const Tensor& theta, IntList size, std::optional<bool> align_corners) {
  const bool aligned = align_corners.value_or(false);
  check_affine_grid(theta, size, aligned);
  const Dims images(size);
  const int dims = images.size() - 2;
  Dims sizes{images[0]};
  for (int d = 0; d < dims; ++d) sizes.push_back(images[d + 2]);
  sizes.push_back(dims);
  Tensor y;
  {
    const GradMode no_grad(false);
    const Tensor places = homogeneous_places(images, aligned, theta);
    y = unsafe_view(bmm(places, transpose(theta, 1, 2)), sizes);
  }
  return record("AffineGridGeneratorBackward0", y, {theta}, [=](BackwardCall& b) {
    const Tensor places = homogeneous_places(images, aligned, b.grad());
    const Tensor g = reshape(b.grad(), {images[0], places.size(1), dims});
    b.results[0] = bmm(transpose(g, 1, 2), places);
  });
}

}  // namespace dt
