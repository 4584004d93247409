#include "core/ops/vision/resample.h"

#include <cmath>

#include "core/autograd/record.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/vision/checks.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/vision.gen.h"

namespace dt {
namespace {

using Line = std::optional<Resampling>;

struct TapTensors {
  Tensor source, weight;

  TapTensors() = default;
  TapTensors(int64_t taps, int64_t n, DType dtype, Device device)
      : source(make_empty({taps, n}, kDTypeOf<int32_t>, device)),
        weight(make_empty({taps, n}, dtype, device)) {}
};

double support(const Resampling& r) {
  const double width = r.antialias ? std::max(r.step, 1.0) : 1;
  return static_cast<double>(r.reach) * width;
}

int64_t count_taps(const Resampling& r) {
  const int64_t taps =
      r.antialias ? 2 * static_cast<int64_t>(std::ceil(support(r))) + 1 : 2 * r.reach;
  return std::min(taps, r.from);
}

// How many elements are made of one, at most. Rounding may add one at each end.
int64_t count_uses(const Resampling& r) {
  const double uses = (2 * support(r) + 1) / r.step + 2;
  return uses < static_cast<double>(r.to) ? static_cast<int64_t>(std::ceil(uses)) : r.to;
}

// As Pillow and PyTorch do for bytes: as many bits behind the point as leave the largest weight
// below 2^15.
Tensor in_fixed_point(const Tensor& weight) {
  const Tensor powers = exp2(arange(1, 23, 1, weight.dtype(), weight.device()));
  const Tensor fits = lt(floor(amax(weight) * powers + 0.5), 32768);
  const Tensor unit = exp2(to_dtype(sum(fits), weight.dtype()));
  return round(weight * unit) / unit;
}

TapTensors make_taps(const Resampling& r, DType dtype, Device device) {
  TapTensors taps(count_taps(r), r.to, dtype, device);
  ResampleTapsCall call;
  call.source = taps.source;
  call.weight = taps.weight;
  call.size = r.from;
  call.reach = r.reach;
  call.align_corners = r.align_corners;
  call.antialias = r.antialias;
  call.step = r.step;
  run(op::resample_taps, call);
  if (r.fixed_point) taps.weight = in_fixed_point(taps.weight);
  return taps;
}

TapTensors transposed_taps(const Resampling& r, const TapTensors& of) {
  TapTensors taps(count_uses(r), r.from, of.weight.dtype(), of.weight.device());
  TransposeTapsCall call;
  call.source = taps.source;
  call.weight = taps.weight;
  call.of_source = of.source;
  call.of_weight = of.weight;
  run(op::transpose_taps, call);
  return taps;
}

TapTensors taps_of(const Line& line, bool transposed, const Tensor& like) {
  if (!line) return {};
  const TapTensors taps = make_taps(*line, info(like.dtype()).compute, like.device());
  return transposed ? transposed_taps(*line, taps) : taps;
}

// What a kernel finds the taps of by itself, without tables.
bool run_neighbours(const Tensor& y, const Tensor& x, const Line& rows, const Line& columns,
                    bool transposed) {
  const Resampling& any = rows ? *rows : *columns;  // both are of one call of interpolate
  if (any.antialias || any.fixed_point) return false;
  ResampleNeighboursCall call;
  call.y = y;
  call.x = x;
  call.reach = any.reach;
  call.row_changes = rows.has_value();
  call.column_changes = columns.has_value();
  call.align_corners = any.align_corners;
  call.transposed = transposed;
  call.row_step = rows ? rows->step : 1;
  call.column_step = columns ? columns->step : 1;
  return run_shortcut(op::resample_neighbours, call);
}

void run_tables(const Tensor& y, const Tensor& x, const Line& rows, const Line& columns,
                bool transposed) {
  const TapTensors row_taps = taps_of(rows, transposed, x),
                   column_taps = taps_of(columns, transposed, x);
  ResampleCall call;
  call.y = y;
  call.x = x;
  call.row_source = row_taps.source;
  call.row_weight = row_taps.weight;
  call.column_source = column_taps.source;
  call.column_weight = column_taps.weight;
  run(op::resample, call);
}

Tensor resample_planes(const Tensor& x, const Line& rows, const Line& columns, bool transposed) {
  const auto size = [&](const Line& line, int d) {
    return !line ? x.size(d) : transposed ? line->from : line->to;
  };
  check_resampled(x);
  const Tensor dense = contiguous(x);
  const Tensor y = make_empty({x.size(0), size(rows, 1), size(columns, 2)}, x.dtype(), x.device());
  if (!run_neighbours(y, dense, rows, columns, transposed))
    run_tables(y, dense, rows, columns, transposed);
  if (!needs_graph(x)) return y;
  return record("UpsampleBackward0", y, {x}, [rows, columns, transposed](BackwardCall& b) {
    b.results[0] = resample_planes(b.grad(), rows, columns, !transposed);
  });
}

}  // namespace

Tensor resample(const Tensor& x, const Line& rows, const Line& columns) {
  return resample_planes(x, rows, columns, false);
}

}  // namespace dt
