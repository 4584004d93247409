#include "core/ops/creation/checks.h"

#include <cmath>

#include "core/ops/checks.h"

namespace dt {

void check_empty_format(MemoryFormat format) {
  DT_CHECK(format != MemoryFormat::kPreserve, kRuntimeError, "unsupported memory format Preserve");
}

void check_contiguous_format(MemoryFormat format) {
  DT_CHECK(format != MemoryFormat::kPreserve, kRuntimeError,
           "preserve memory format is unsupported by the contiguous operator");
}

void check_channels_last_rank(int64_t ndim) {
  DT_CHECK(ndim == 4, kRuntimeError, "required rank 4 tensor to use channels_last format");
}

void check_shape_holds(const char* function, const char* what, const Dims& sizes, int64_t n) {
  DT_CHECK(count_elements(sizes) == n, kRuntimeError, function, ": shape ", sizes,
           " does not hold ", n, " ", what);
}

void check_arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  const double a = start.to_double(), b = end.to_double(), s = step.to_double();
  DT_CHECK(!is_bool(dtype), kNotImplemented, "\"arange_cpu\" not implemented for 'Bool'");
  DT_CHECK(s != 0, kRuntimeError, "step must be nonzero");
  DT_CHECK(std::isfinite(a) && std::isfinite(b), kRuntimeError, "unsupported range: ", start,
           " -> ", end);
  DT_CHECK((s > 0 && b >= a) || (s < 0 && b <= a), kRuntimeError,
           "upper bound and lower bound inconsistent with step sign");
}

namespace {

constexpr const char* kOverflow = "invalid size, possible overflow?";

}  // namespace

void check_count(double count) {
  DT_CHECK(count < 9e18, kRuntimeError, kOverflow);
}

void check_integer_range(const Scalar& start, const Scalar& end, const Scalar& step) {
  for (const Scalar& x : {start, end, step}) check_fits(x, kIntegerDType);
  DT_CHECK(step.to_int64() != 0, kValueError, "step must be nonzero");
  int64_t span;
  const bool overflow = __builtin_sub_overflow(end.to_int64(), start.to_int64(), &span);
  DT_CHECK(!overflow && span != INT64_MIN, kRuntimeError, kOverflow);  // INT64_MIN / -1 traps
}

void check_linspace_steps(int64_t steps) {
  DT_CHECK(steps >= 0, kRuntimeError, "number of steps must be non-negative");
}

void check_linspace(const Scalar& start, const Scalar& end, DType dtype) {
  DT_CHECK(!is_bool(dtype), kNotImplemented, "\"linspace_cpu\" not implemented for 'Bool'");
  for (const Scalar& x : {start, end}) check_fits(x, dtype);
}

void check_logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                    DType dtype) {
  check_linspace_steps(steps);
  DT_CHECK(steps < 2 || !is_bool(dtype), kNotImplemented,
           "\"logspace_cpu\" not implemented for 'Bool'");
  if (steps == 1) return check_fits(std::pow(base, start.to_double()), dtype);
  for (const Scalar& x : {start, end}) {
    if (steps > 1) check_fits(x, dtype);
  }
}

void check_strided(IntList size, IntList stride) {
  DT_CHECK(size.size() == stride.size(), kRuntimeError, "dimensionality of sizes (", size.size(),
           ") must match dimensionality of strides (", stride.size(), ")");
}

void check_eye(int64_t rows, int64_t columns) {
  DT_CHECK(rows >= 0, kRuntimeError, "n must be greater or equal to 0, got ", rows);
  DT_CHECK(columns >= 0, kRuntimeError, "m must be greater or equal to 0, got ", columns);
}

void check_copy_sizes(const Tensor& self, const Tensor& src) {
  DT_CHECK(broadcast_sizes(self.sizes(), src.sizes()) == self.sizes(), kRuntimeError,
           "The size of tensor a ", self.sizes(), " must match the size of tensor b ", src.sizes());
}

void check_fill(const Tensor& self, const Operand& value) {
  if (value.is_number()) return check_fits(value.number(), self.dtype());
  DT_CHECK(value.tensor().ndim() == 0, kRuntimeError,
           "fill_ only supports 0-dimension value tensor but got tensor with ",
           value.tensor().ndim(), " dimensions.");
}

}  // namespace dt
