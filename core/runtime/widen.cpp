#include "core/runtime/widen.h"

#include <algorithm>

#include "core/runtime/calls/creation.gen.h"
#include "core/runtime/thread_pool.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// Where a view's elements lie, and where those of its copy do: dense, in the same order of
// dimensions. What is broadcast stays so, its dimensions are of size 1 here.
struct Places {
  Dims sizes, strides, dense;

  explicit Places(const View& v)
      : sizes(IntList(v.sizes, v.ndim)), strides(IntList(v.strides, v.ndim)), dense(v.ndim, 0) {
    for (int d = 0; d < v.ndim; ++d) {
      if (strides[d] == 0 && sizes[d] != 0) sizes[d] = 1;
    }
    Dims distances(v.ndim, 0);
    for (int d = 0; d < v.ndim; ++d) distances[d] = std::abs(strides[d]);
    int order[DT_MAX_DIMS];
    memory_order(&distances, 1, sizes, order);
    int64_t distance = 1;
    for (int d = v.ndim - 1; d >= 0; --d) {
      dense[order[d]] = distance;
      distance *= std::max<int64_t>(sizes[order[d]], 1);
    }
  }

  bool is_dense() const { return same_walk(sizes, strides, dense); }
};

// The memory of a view under other sizes and strides.
View placed(const View& v, const Dims& sizes, const Dims& strides) {
  View placed = v;
  placed.ndim = sizes.size();
  std::copy(sizes.begin(), sizes.end(), placed.sizes);
  std::copy(strides.begin(), strides.end(), placed.strides);
  return placed;
}

void copy_views(const View& y, const View& x) {
  CopyCall call;
  call.y = y;
  call.x = x;
  run(op::copy, call);
}

}  // namespace

View part_of(const View& v, int dim, int64_t first, int64_t count) {
  View part = v;
  if (v.dtype == 0) return part;
  const int64_t bytes = info(static_cast<DType>(v.dtype)).bytes;
  part.data = static_cast<char*>(v.data) + first * v.strides[dim] * bytes;
  part.sizes[dim] = count;
  return part;
}

int64_t widened_part(int op, const View& x, int dim) {
  constexpr int64_t kElements = 65536, kFewest = 64;  // of each thread; along a line of memory
  const int64_t size = x.sizes[dim];
  if (!is_narrow_float(x.dtype) || x.device != 0 || takes_narrow_floats(op, kCpu)) return size;
  int64_t across = 1;
  for (int d = 0; d < x.ndim; ++d) across *= d == dim ? 1 : x.sizes[d];
  const int64_t fitting = num_threads() * kElements / std::max<int64_t>(across, 1);
  return std::max(fitting, x.strides[dim] == 1 ? kFewest : 1);
}

WidenedOperands::WidenedOperands(const CallSpans& spans, Device device, bool updates_outputs)
    : spans_(spans),
      outputs_(widened(spans.outputs, device, updates_outputs)),
      inputs_(widened(spans.inputs, device, true)) {}

WidenedOperands::Side WidenedOperands::widened(Span<const View> views, Device device, bool fills) {
  Side side;
  side.views.assign(views.begin(), views.end());
  for (View& v : side.views) {
    if (!is_narrow_float(v.dtype)) continue;
    const DType wide = info(static_cast<DType>(v.dtype)).compute;
    if (v.immediate) {
      v.dtype = static_cast<int32_t>(wide);
      continue;
    }
    const Places places(v);
    Copy copy;
    copy.wide = make_empty_strided(places.sizes, places.dense, wide, device);
    const Dims count = {copy.wide.numel()}, one = {1};
    const bool is_dense = places.is_dense();
    const Dims& sizes = is_dense ? count : places.sizes;
    copy.narrow_walk = placed(v, sizes, is_dense ? one : places.strides);
    copy.wide_walk = View(copy.wide, sizes, is_dense ? one : places.dense, 0);
    if (fills && copy.wide.numel() > 0) copy_views(copy.wide_walk, copy.narrow_walk);
    Dims strides = places.dense;
    for (int d = 0; d < v.ndim; ++d) {
      if (v.strides[d] == 0) strides[d] = 0;
    }
    v = View(copy.wide, IntList(v.sizes, v.ndim), strides, 0);
    side.copies.push_back(std::move(copy));
  }
  return side;
}

CallSpans WidenedOperands::spans() const {
  CallSpans spans = spans_;
  spans.outputs = outputs_.views;
  spans.inputs = inputs_.views;
  return spans;
}

void WidenedOperands::round_outputs() const {
  for (const Copy& copy : outputs_.copies) {
    if (copy.wide.numel() > 0) copy_views(copy.narrow_walk, copy.wide_walk);
  }
}

}  // namespace dt
