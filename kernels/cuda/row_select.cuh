// Of rows that no block can sort: the elements that come first, or a statistic (row_select.cu).
#pragma once

#include "kernels/cuda/row_sort.cuh"
#include "kernels/cuda/scratch.h"

namespace dt::cuda {

// Elements of each row and their positions, [rows][first], in the order in which they lie in it.
struct Selected {
  void* elements = nullptr;
  uint32_t* positions = nullptr;

  Selected() = default;
  Selected(const RowSort& sort, Scratch* scratch)
      : elements(scratch->take<char>(sort.rows.count * sort.rows.first * sort.bytes)),
        positions(scratch->take<uint32_t>(sort.rows.count * sort.rows.first)) {}
};

// Whether 32 bits count the elements of a row.
bool can_select(const Rows& rows);
// Those of each row that come first when it is sorted, as many as sort.rows.first; or the statistic
// of it, for which `to` is not needed. A dry run only takes the scratch memory.
int32_t select_rows(const dt_stream* stream, const RowSort& sort, const Selected& to,
                    Scratch* scratch, bool is_dry);

}  // namespace dt::cuda
