// Looking for elements in sorted rows: searchsorted, bucketize, isin.
#include <limits>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/promotion.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/sorting/checks.h"
#include "core/ops/sorting/rows.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// A number that the dtype cannot hold becomes what an element of a tensor would.
Tensor as_tensor(const Operand& x, DType dtype, Device device) {
  if (!x.is_number()) return to_dtype(x.tensor(), dtype);
  const DType own = x.number().is_floating() ? kDTypeOf<double> : kIndexDType;
  return to_dtype(full({}, x.number(), own, device), dtype);
}

// A row, or one for each of `values`.
View rows_for(const Tensor& sorted, const Tensor& values) {
  Dims sizes = values.sizes(), strides(values.ndim(), 0);
  if (sizes.empty()) sizes = {0}, strides = {0};
  const int last = sizes.size() - 1;
  for (int d = 0; d < last && sorted.ndim() > 1; ++d) strides[d] = sorted.strides()[d];
  sizes[last] = sorted.sizes().back();
  strides[last] = sorted.strides().back();
  return View(sorted, sizes, strides, sorted.offset());
}

Tensor positions_in(const Tensor& sorted, const Tensor& values, DType dtype, bool right,
                    const Tensor& sorter) {
  const Tensor y = make_empty(values.sizes(), dtype, values.device());
  // Short rows that look in the same one are a long one.
  const bool is_flat = sorted.ndim() == 1 && values.ndim() > 1;
  const Tensor x = is_flat ? reshape(values, {-1}) : values;
  const Tensor positions = is_flat ? reshape(y, {-1}) : y;
  SearchsortedCall call;
  call.y = row_view(positions, x.ndim() - 1);
  call.sorted = rows_for(sorted, x);
  call.values = row_view(x, x.ndim() - 1);
  if (sorter.defined()) call.sorter = rows_for(sorter, x);
  call.right = right;
  run(op::searchsorted, call);
  return y;
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Operand& input, bool out_int32, bool right,
                    const std::optional<std::string>& side, const Tensor& sorter) {
  const bool is_right = checked_side(right, side);
  const GradMode no_grad(false);
  const DType common = result_type({sorted_sequence, input});
  const Tensor values = as_tensor(input, common, sorted_sequence.device());
  check_searched(sorted_sequence, values);
  if (sorter.defined()) check_sorter(sorted_sequence, sorter);
  return positions_in(to_dtype(sorted_sequence, common), values,
                      out_int32 ? kDTypeOf<int32_t> : kIndexDType, is_right, sorter);
}

Tensor bucketize(const Operand& input, const Tensor& boundaries, bool out_int32, bool right) {
  check_boundaries(boundaries);
  return searchsorted(boundaries, input, out_int32, right, {}, {});
}

Tensor isin(const Operand& elements, const Operand& test_elements, bool, bool invert) {
  check_isin(elements, test_elements);
  const GradMode no_grad(false);
  const DType common = result_type({elements, test_elements});
  const Device device = (elements.is_number() ? test_elements : elements).tensor().device();
  const Tensor x = as_tensor(elements, common, device);
  const Tensor list = reshape(as_tensor(test_elements, common, device), {-1});
  if (list.numel() == 0) return full(x.sizes(), invert, kMaskDType, device);
  const Tensor sorted = sorted_elements(list);
  // A search takes NaN for less than all numbers, and they come last; no element equals one.
  const Tensor keys = is_floating(common) ? masked_fill(sorted, isnan(sorted),
                                                        std::numeric_limits<double>::infinity())
                                          : sorted;
  const Tensor place = clamp(positions_in(keys, x, kIndexDType, false, {}), {}, {list.numel() - 1});
  const Tensor nearest = index(sorted, {place});
  return invert ? ne(nearest, x) : eq(nearest, x);
}

}  // namespace dt
