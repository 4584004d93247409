#include "core/base/dims.h"

namespace dt {

int64_t count_elements(IntList sizes) {
  if (sizes.size() > DT_MAX_DIMS) Dims refused(sizes);  // before a number is read
  uint64_t n = 1;
  bool overflows = false;
  for (int64_t size : sizes) {
    DT_CHECK(size >= 0, kRuntimeError, "Trying to create tensor with negative dimension ", size,
             ": ", sizes);
    // Of 64 bits without a sign, as PyTorch's, also where a size of 0 comes behind.
    overflows |= __builtin_mul_overflow(n, static_cast<uint64_t>(size), &n);
  }
  DT_CHECK(!overflows && n <= INT64_MAX, kRuntimeError,
           "Storage size calculation overflowed with sizes=", sizes);
  return static_cast<int64_t>(n);
}

Dims contiguous_strides(IntList sizes) {
  Dims strides(static_cast<int>(sizes.size()), 1);
  int64_t stride = 1;
  for (int d = strides.size() - 1; d >= 0; --d) {
    DT_CHECK(stride > 0, kRuntimeError, "Stride calculation overflowed with sizes=", sizes);
    strides[d] = stride;
    if (sizes[d] > 1 && __builtin_mul_overflow(stride, sizes[d], &stride)) stride = 0;
  }
  return strides;
}

Dims broadcast_sizes(IntList a, IntList b) {
  const int64_t n = a.size() > b.size() ? a.size() : b.size();
  Dims out(static_cast<int>(n), 1);
  for (int64_t d = n - 1; d >= 0; --d) {
    const int64_t ia = d - (n - a.size()), ib = d - (n - b.size());
    const int64_t sa = ia >= 0 ? a[ia] : 1, sb = ib >= 0 ? b[ib] : 1;
    DT_CHECK(sa == sb || sa == 1 || sb == 1, kRuntimeError, "The size of tensor a (", sa,
             ") must match the size of tensor b (", sb, ") at non-singleton dimension ", d);
    out[static_cast<int>(d)] = sa == 1 ? sb : sa;
  }
  return out;
}

}  // namespace dt
