// quantile and nanquantile: an element of the sorted rows, or what lies between two of them. All
// steps are differentiable ops.
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/sorting/checks.h"

namespace dt {
namespace {

// Where quantiles q (1-d) lie in sorted rows [..., n]: [..., q], not rounded.
Tensor ranks_of(const Tensor& sorted, const Tensor& q, bool skip_nan) {
  const int64_t last = sorted.sizes().back() - 1;
  const Tensor nan = isnan(sorted);
  if (!skip_nan) return where(any(nan, {{-1}}, true), last, mul(q, last));
  const Tensor numbers = sum(logical_not(nan), {{-1}}, true);
  const Tensor ranks = mul(q, sub(numbers, 1));
  return masked_fill(ranks, lt(ranks, 0), 0);
}

Tensor rounded(const Tensor& ranks, const std::string& interpolation) {
  if (interpolation == "lower") return floor(ranks);
  if (interpolation == "higher") return ceil(ranks);
  if (interpolation == "nearest") return round(ranks);
  return ranks;
}

Tensor interpolated(const Tensor& sorted, const Tensor& ranks, const std::string& interpolation) {
  const Tensor place = to_dtype(ranks.detach(), kIndexDType);
  const Tensor below = gather(sorted, -1, place);
  const bool is_midpoint = interpolation == "midpoint";
  if (!is_midpoint && interpolation != "linear") return below;
  const Tensor above = gather(sorted, -1, to_dtype(ceil(ranks.detach()), kIndexDType));
  return lerp(below, above, is_midpoint ? full_like(ranks, 0.5) : sub(ranks, place));
}

Tensor quantiles(const Tensor& input, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                 const std::string& interpolation, bool skip_nan) {
  check_quantile_input(input);
  if (q.is_number()) check_quantile_number(q.number().to_double());
  const Tensor wanted =
      q.is_number() ? full({}, q.number(), input.dtype(), input.device()) : q.tensor();
  check_quantile_tensor(input, wanted);
  check_interpolation(interpolation);
  const int d = wrap_dim(dim.value_or(0), input.ndim());
  const bool is_flat = !dim || input.ndim() == 0;
  // The rows come last; where they were, a dimension of size 1 is left.
  const Tensor x = is_flat ? reshape(input, {-1}) : transpose(unsqueeze(input, -1), d, -1);
  const Tensor in_order = std::get<0>(sort(x, -1, false, true));
  Dims sizes;
  for (int i = 0; i < input.ndim(); ++i) {
    const bool is_reduced = !dim || i == d;
    if (keepdim || !is_reduced) sizes.push_back(is_reduced ? 1 : input.sizes()[i]);
  }
  sizes.push_back(in_order.sizes().back());
  const Tensor sorted = view(in_order, sizes);
  const Tensor ranks = rounded(ranks_of(sorted, at_least_1d(wanted), skip_nan), interpolation);
  const Tensor y = interpolated(sorted, ranks, interpolation);
  const Tensor z = wanted.ndim() == 0 ? squeeze(y, {{-1}}) : movedim(y, {-1}, {0});
  return unsafe_view(z, z.sizes());
}

}  // namespace

Tensor quantile(const Tensor& input, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation) {
  return quantiles(input, q, dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& input, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                   const std::string& interpolation) {
  return quantiles(input, q, dim, keepdim, interpolation, true);
}

}  // namespace dt
