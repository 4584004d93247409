// Coordinates: unravel_index, tril_indices, triu_indices.
#include <algorithm>

#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/shapes/checks.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {

std::vector<Tensor> unravel_index(const Tensor& indices, IntList shape) {
  check_unravel_index(indices, shape);
  if (shape.empty()) return {};
  const int64_t ndim = shape.size();
  const Tensor numbers = make_empty({2, ndim}, kIndexDType, kCpu);
  int64_t *steps = numbers.data_as<int64_t>(), *sizes = steps + ndim, step = 1;
  for (int64_t d = ndim - 1; d >= 0; --d) {
    steps[d] = step;
    sizes[d] = shape[d];
    step = count_elements({step, shape[d]});
  }
  const Tensor there = to(numbers, indices.device(), kIndexDType);
  const Tensor rest = floor_divide(unsqueeze(indices, -1), select(there, 0, 0));
  return unbind(remainder(rest, select(there, 0, 1)), -1);
}

namespace {

// The columns [from, to) = range(i + offset) of row i belong to it.
template <class Range>
Tensor triangle_indices(const char* name, int64_t rows, int64_t columns, int64_t offset,
                        DType dtype, Device device, Range range) {
  if (dtype == DType::kDefault) dtype = kIndexDType;
  check_triangle_indices(name, rows, columns, dtype);
  const int64_t k = std::clamp(offset, -rows, columns);  // further out is all or nothing
  const auto limited = [&](int64_t column) { return std::clamp<int64_t>(column, 0, columns); };
  const auto first = [&](int64_t i) { return limited(range(i + k).first); };
  const auto last = [&](int64_t i) { return std::max(first(i), limited(range(i + k).second)); };
  count_elements({2, rows, columns});  // no count below overflows then
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) count += last(i) - first(i);
  const Tensor y = make_empty({2, count}, kIndexDType, kCpu);
  int64_t *row = y.data_as<int64_t>(), *column = row + count;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t begin = first(i), length = last(i) - begin;
    row = std::fill_n(row, length, i);
    for (int64_t j = 0; j < length; ++j) column[j] = begin + j;
    column += length;
  }
  return to(y, device_or_default(device), dtype);
}

using Columns = std::pair<int64_t, int64_t>;

}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, DType dtype, Device device) {
  return triangle_indices("tril_indices", row, col, offset, dtype, device,
                          [](int64_t diagonal) { return Columns(0, diagonal + 1); });
}

Tensor triu_indices(int64_t row, int64_t col, int64_t offset, DType dtype, Device device) {
  return triangle_indices("triu_indices", row, col, offset, dtype, device,
                          [col](int64_t diagonal) { return Columns(diagonal, col); });
}

}  // namespace dt
