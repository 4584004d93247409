// Sorts of rows that fit into the registers of a block, many in one kernel (row_sort.cu).
#pragma once

#include "kernels/cuda/order.cuh"

namespace dt::cuda {

// What of a sorted row is wanted where only one element of it is, see kernel.order_statistic.
struct Statistic {
  int64_t rank;
  bool median, skip_nan;

  // The place of it in a row of n of which so many are not NaN, which come last.
  __host__ __device__ __forceinline__ int64_t place(int64_t numbers, int64_t n) const {
    if (!median) return rank;
    if (numbers < n && !skip_nan) return numbers;
    return numbers > 1 ? (numbers - 1) / 2 : 0;
  }
};

struct RowSort {
  const void* x;
  void* values;      // or null
  int64_t* indices;  // or null
  Rows rows;
  int32_t dtype;
  int32_t bytes;  // of an element
  bool descending;
  // Where the elements of a row were before they became the row, [rows][n]; or null.
  const uint32_t* positions = nullptr;
  bool is_statistic = false;
  Statistic which = {};
  bool has_nan;
  uint64_t nan_key = 0;

  // values and indices may be null.
  RowSort(const dt_view& x, const dt_view* values, const dt_view* indices, bool descending);
};

bool are_short_rows(const Rows& rows, int32_t dtype);
// Writes the first elements of each sorted row, or a statistic of it.
int32_t sort_short_rows(const dt_stream* stream, const RowSort& sort);

}  // namespace dt::cuda
