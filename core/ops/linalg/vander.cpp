// Vandermonde's matrices, whose columns are running products of the first one.
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N) {
  DT_CHECK(!is_bool(x.dtype()), kRuntimeError,
           "linalg.vander supports floating point, complex, and integer tensors, but got ",
           type_word(x.dtype()));
  const Tensor bases = unsqueeze(at_least_1d(x), -1);
  const int64_t columns = N.value_or(bases.sizes()[bases.ndim() - 2]);
  DT_CHECK(columns > 1, kRuntimeError, "N must be greater than 1.");
  Dims sizes = bases.sizes();
  sizes[sizes.size() - 1] = columns - 1;
  const Tensor powers = cumprod(expand(bases, sizes), -1);
  return cat({ones_like(bases, powers.dtype()), powers}, -1);
}

Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing) {
  DT_CHECK(x.ndim() == 1, kRuntimeError, "x must be a one-dimensional tensor.");
  const int64_t columns = N.value_or(x.numel());
  DT_CHECK(columns >= 0, kRuntimeError, "N must be non-negative.");
  const DType t = is_floating(x.dtype()) ? x.dtype() : kIntegerDType;
  if (columns < 2) return ones({x.numel(), columns}, t, x.device());
  const Tensor y = linalg_vander(to_dtype(x, t), columns);
  return increasing ? y : flip(y, {1});
}

}  // namespace dt
