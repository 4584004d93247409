// Coordinates: unravel_index, tril_indices, triu_indices.
#include <algorithm>
#include <numeric>

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

// How many elements of a matrix with columns lie on the diagonal k, -rows <= k < columns, or below.
int64_t count_lower(int64_t rows, int64_t columns, int64_t k) {
  const int64_t begin = std::max<int64_t>(0, -k);  // the first row that has some
  const int64_t whole = k > columns - 1 - rows ? std::max<int64_t>(0, columns - 1 - k) : rows;
  const int64_t shortest = begin + k + 1, longest = whole + k;  // of those that have a part
  const double about = 0.5 * (whole - begin) * (static_cast<double>(shortest) + longest) +
                       static_cast<double>(rows - whole) * columns;
  DT_CHECK(about < 0x1p60, kRuntimeError,
           "Storage size calculation overflowed with sizes=", IntList({2, rows, columns}));
  return (whole - begin) * (shortest + longest) / 2 + (rows - whole) * columns;
}

Tensor triangle_indices(const char* name, int64_t rows, int64_t columns, int64_t offset, bool upper,
                        DType dtype, Device device) {
  if (dtype == DType::kDefault) dtype = kIndexDType;
  check_triangle_indices(name, rows, columns, dtype);
  offset = std::clamp(offset, -rows, columns);  // further out is all or nothing
  // Turned by half a circle the upper triangle is a lower one.
  const int64_t k = std::min(upper ? columns - rows - offset : offset, columns - 1);
  const int64_t count = columns == 0 ? 0 : count_lower(rows, columns, k);
  const Tensor y = make_empty({2, count}, kIndexDType, kCpu);
  int64_t *row = y.data_as<int64_t>(), *column = row + count, *const end = column;
  for (int64_t i = upper ? 0 : std::max<int64_t>(0, -k); row < end; ++i) {
    const int64_t length = std::min(columns, (upper ? rows - 1 - i : i) + k + 1);
    row = std::fill_n(row, length, i);
    std::iota(column, column + length, upper ? columns - length : 0);
    column += length;
  }
  return to(y, device_or_default(device), dtype);
}

}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, DType dtype, Device device) {
  return triangle_indices("tril_indices", row, col, offset, false, dtype, device);
}

Tensor triu_indices(int64_t row, int64_t col, int64_t offset, DType dtype, Device device) {
  return triangle_indices("triu_indices", row, col, offset, true, dtype, device);
}

}  // namespace dt
