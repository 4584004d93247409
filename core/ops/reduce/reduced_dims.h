// What reductions share: each kernel reads x and writes a result whose reduced dimensions have
// size 1.
#pragma once

#include <optional>

#include "core/runtime/backend.h"
#include "core/runtime/calls/reduce.gen.h"

namespace dt {

// Which dimensions are reduced, and the sizes with and without them.
struct ReducedDims {
  bool reduced[DT_MAX_DIMS] = {};
  Dims kept_sizes;    // reduced dimensions have size 1
  Dims result_sizes;  // kept_sizes, or without the reduced dimensions
  int64_t count = 1;  // how many elements make one result

  // No dim, and an empty list, mean all dimensions.
  ReducedDims(const Tensor& x, std::optional<IntList> dim, bool keepdim);
};

// What elements are converted to before they are added or multiplied.
DType accumulate_dtype(const Tensor& x, DType wish);

// The result as a kernel writes it, with the reduced dimensions.
View kept_view(const Tensor& y, const ReducedDims& reduced);

// Without a record.
Tensor run_reduction(Op<ReductionCall> op, const Tensor& x, const ReducedDims& reduced, DType dtype,
                     DType compute);

// A gradient or result of the reduced shape, as wide as x again.
Tensor spread(const Tensor& g, const Dims& kept_sizes, const Dims& sizes);

}  // namespace dt
