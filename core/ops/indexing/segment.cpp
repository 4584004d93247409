// Reductions of segments, which lie one behind the other along a dimension.
#include <limits>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// For each element of `data` how many bounds along `axis` are not behind it.
Tensor bounds_passed(const Tensor& data, int axis, const Tensor& bounds) {
  Dims line = bounds.sizes();
  line[axis] = data.sizes()[axis];
  const Tensor place = expand(arange(0, line[axis], 1, kIndexDType, data.device()), line);
  const Tensor passed = searchsorted(contiguous(bounds), contiguous(place), false, true);
  for (int i = axis + 1; i < data.ndim(); ++i) line.push_back(1);
  return expand(reshape(passed, line), data.sizes());
}

Tensor counts(const Tensor& base, int axis, const Tensor& segment, bool at_least_one) {
  const Tensor one = full({}, 1, base.dtype(), base.device());
  const Tensor met = scatter_add(zeros_like(base), axis, segment, expand(one, segment.sizes()));
  return at_least_one ? maximum(met, one) : met;
}

}  // namespace

Tensor segment_reduce(const Tensor& data, const std::string& reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, int64_t axis, bool unsafe,
                      const std::optional<Scalar>& initial) {
  const int d = wrap_dim(axis, data.ndim());
  const bool by_offsets = offsets.defined();
  check_segments(data, reduce, d, by_offsets ? offsets : lengths, by_offsets, indices, unsafe);
  const Tensor bounds = by_offsets ? offsets.detach() : cumsum(lengths.detach(), d);
  const Tensor segment = bounds_passed(data, d, to_dtype(bounds, kIndexDType));

  const bool largest = reduce == "max" || reduce == "amax";
  const bool extreme = largest || reduce == "min" || reduce == "amin";
  const double infinity = std::numeric_limits<double>::infinity();
  const Scalar neutral =
      extreme ? Scalar(largest ? -infinity : infinity) : Scalar(reduce == "prod");
  // Elements before the first offset and behind the last bound have places of their own.
  Dims sizes = data.sizes();
  sizes[d] = bounds.sizes()[d] + 1;
  const Tensor base =
      full(sizes, extreme || !initial ? neutral : *initial, data.dtype(), data.device());
  const char* fold = largest ? "amax" : extreme ? "amin" : reduce == "prod" ? "prod" : "sum";
  Tensor y = scatter_reduce(base, d, segment, data, fold);
  // What an element shares with the initial number is the element's, and so is its gradient.
  if (extreme && initial) y = largest ? clamp_min(y, *initial) : clamp_max(y, *initial);
  if (reduce == "mean") y = div(y, counts(base, d, segment, initial.has_value()));
  return narrow_copy(y, d, by_offsets, bounds.sizes()[d] - by_offsets);
}

}  // namespace dt
