// How often numbers occur: bincount, histc, histogram.
#include <algorithm>
#include <cmath>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/sorting/checks.h"
#include "core/ops/sorting/rows.h"
#include "core/ops/views.gen.h"
#include "core/runtime/transfer.h"

namespace dt {
namespace {

struct Bounds {
  double low, high;
};

// Whether the device counts x's elements at once, in bins of equal width.
bool count_at_once(const Tensor& y, const Tensor& x, const Bounds& bounds) {
  CountBinsCall call;
  call.y = y;
  const Tensor dense = contiguous(reshape(x, {-1}));
  call.x = dense;
  call.equal = true;
  call.low = bounds.low, call.high = bounds.high;
  return run_shortcut(op::count_bins, call);
}

// What lies at each of the positions [0, count): the sum of the weights, or their number.
Tensor counted(const Tensor& positions, int64_t count, const Tensor& weights, DType dtype) {
  const Tensor y = zeros({count}, dtype, positions.device());
  if (!weights.defined() && count_integers(y, positions, 0)) return y;
  const Tensor place = to_dtype(reshape(positions, {-1}), kIndexDType);
  const Tensor each = weights.defined() ? to_dtype(reshape(weights, {-1}), dtype)
                                        : expand(ones({1}, dtype, place.device()), place.sizes());
  return scatter_add(y, 0, place, each);
}

// PyTorch has no derivative by weights.
Tensor recorded(const char* node, const char* op, const Tensor& y, TensorList inputs) {
  return record(node, y, inputs, [op](BackwardCall&) {
    fail(Code::kRuntimeError, "derivative for aten::", op, " is not implemented");
  });
}

Bounds own_bounds(const Tensor& x) {
  return {item(min(x)).to_double(), item(max(x)).to_double()};
}

// How many of x, or what weights of them, lie in bins; `bin` says which, and counts only inside of
// the bounds. The last bin has its upper bound.
Tensor bin_sums(const Tensor& x, const Tensor& bin, const Operand& low, const Operand& high,
                int64_t bins, const Tensor& weight) {
  const Tensor inside = logical_and(ge(x, low), le(x, high));
  const Tensor place = where(inside, clamp(bin, {0}, {bins - 1}), bins);
  const DType dtype = weight.defined() ? x.dtype() : kIndexDType;
  const Tensor sums = counted(place, bins + 1, weight, dtype);
  return clone(to_dtype(narrow(sums, 0, 0, bins), x.dtype()));
}

// The edges of `bins` bins between given bounds, or the input's own.
Tensor make_edges(const Tensor& x, int64_t bins, std::optional<Span<const double>> range) {
  check_bins(bins);
  Bounds bounds = {0, 1};
  if (range) {
    check_range(*range);
    bounds = {(*range)[0], (*range)[1]};
  } else if (x.numel() > 0) {
    bounds = own_bounds(x);
  }
  DT_CHECK(std::isfinite(bounds.low) && std::isfinite(bounds.high), kRuntimeError,
           "torch.histogramdd: dimension 0's range [", bounds.low, ", ", bounds.high,
           "] is not finite");
  DT_CHECK(bounds.low <= bounds.high, kRuntimeError,
           "torch.histogramdd: min should not exceed max, but got min ", bounds.low, " max ",
           bounds.high, " for dimension 0");
  if (bounds.low == bounds.high) bounds = {bounds.low - 0.5, bounds.high + 0.5};
  return linspace(bounds.low, bounds.high, bins + 1, x.dtype(), x.device());
}

Bounds histc_bounds(const Tensor& x, const Scalar& min, const Scalar& max) {
  Bounds bounds = {min.to_double(), max.to_double()};
  DT_CHECK(!(bounds.low > bounds.high), kRuntimeError, "torch.histc: max must be larger than min");
  if (bounds.low == bounds.high && x.numel() > 0) bounds = own_bounds(x);
  if (bounds.low == bounds.high) bounds = {bounds.low - 1, bounds.high + 1};
  DT_CHECK(std::isfinite(bounds.low) && std::isfinite(bounds.high), kRuntimeError,
           "torch.histc: range of [", bounds.low, ", ", bounds.high, "] is not finite");
  return bounds;
}

// The dtype in which places are found: the input's, but float64 where in float32 the range, times
// the bins, vanishes or is infinite. Bounds are those that elements can have.
DType histc_dtype(DType dtype, Bounds* bounds, int64_t bins) {
  if (dtype != kDTypeOf<float>) return dtype;
  const float low = static_cast<float>(bounds->low), high = static_cast<float>(bounds->high);
  if (low < high) *bounds = {low, high};
  const float span = (high - low) * static_cast<float>(bins);
  return span > 0 && std::isfinite(span) ? dtype : kRealDType;
}

}  // namespace

// Both cross to the host together.
Extremes extremes_of(const Tensor& x) {
  const auto [low, high] = aminmax(x.detach(), {});
  const Tensor both = on_host(stack({low, high}, 0));
  return {item(select(both, 0, 0)).to_int64(), item(select(both, 0, 1)).to_int64()};
}

bool count_integers(const Tensor& y, const Tensor& x, int64_t first) {
  CountBinsCall call;
  call.y = y;
  const Tensor dense = contiguous(reshape(x, {-1}));
  call.x = dense;
  call.first = first;
  return run_shortcut(op::count_bins, call);
}

Tensor bincount(const Tensor& input, const Tensor& weights, int64_t minlength) {
  check_bincount(input, weights, minlength);
  if (input.numel() == 0) return zeros({minlength}, kIndexDType, input.device());
  const auto [lowest, highest] = extremes_of(input);
  check_counted(lowest, highest);
  const int64_t count = std::max(highest + 1, minlength);
  const bool keeps = weights.defined() && weights.dtype() == kDTypeOf<float>;
  const DType dtype = !weights.defined() ? kIndexDType : keeps ? weights.dtype() : kRealDType;
  Tensor y;
  {
    const GradMode no_grad(false);
    y = counted(input, count, weights, dtype);
  }
  return recorded("BincountBackward0", "bincount", y, {weights});
}

Tensor histc(const Tensor& input, int64_t bins, const Scalar& min, const Scalar& max) {
  check_histc(input);
  check_bins(bins);
  const GradMode no_grad(false);
  Bounds bounds = histc_bounds(input.detach(), min, max);
  const Tensor x = to_dtype(input.detach(), histc_dtype(input.dtype(), &bounds, bins));
  const Tensor counts = zeros({bins}, kIndexDType, x.device());
  if (count_at_once(counts, x, bounds)) return to_dtype(counts, input.dtype());
  const Tensor low = full({}, bounds.low, x.dtype(), x.device());
  const Tensor high = full({}, bounds.high, x.dtype(), x.device());
  const Tensor place = div(mul(sub(x, low), bins), sub(high, low));
  // What is outside may be no integer at all.
  const Tensor bin = to_dtype(nan_to_num(clamp(place, {0}, {bins})), kIndexDType);
  return to_dtype(bin_sums(x, bin, low, high, bins, {}), input.dtype());
}

std::tuple<Tensor, Tensor> histogram(const Tensor& input, const Operand& bins,
                                     std::optional<Span<const double>> range, const Tensor& weight,
                                     bool density) {
  const Tensor x = input.detach();
  Tensor edges;
  if (bins.is_number()) {
    check_histogram(x, !range);
    edges = make_edges(x, bins.number().to_int64(), range);
  } else {
    check_edges(x, bins.tensor());
    check_histogram(x, false);
    edges = clone(bins.tensor().detach());
  }
  check_weight(x, weight);
  Tensor hist;
  {
    const GradMode no_grad(false);
    const int64_t count = edges.numel() - 1;
    // Sums of narrow numbers would soon stand still.
    const DType dtype = info(x.dtype()).compute;
    const Tensor elements = to_dtype(reshape(x, {-1}), dtype), at = to_dtype(edges, dtype);
    const Tensor each = weight.defined() ? to_dtype(reshape(weight, {-1}), dtype) : weight;
    const Tensor bin = sub(searchsorted(at, elements, false, true, {}, {}), 1);
    hist = bin_sums(elements, bin, select(at, 0, 0), select(at, 0, count), count, each);
    if (density) {
      const Tensor widths = sub(narrow(at, 0, 1, count), narrow(at, 0, 0, count));
      hist = div(div(hist, sum(hist)), widths);
    }
    hist = to_dtype(hist, x.dtype());
  }
  const Tensor inputs[] = {input, weight, bins.is_number() ? Tensor() : bins.tensor()};
  recorded("HistogramBackward0", "histogram", hist, {inputs, 3});
  recorded("HistogramBackward0", "histogram", edges, {inputs, 3});
  return {hist, edges};
}

}  // namespace dt
