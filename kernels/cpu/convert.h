// Reading and writing runs of elements of any dtype as values of one arithmetic type: int32_t,
// int64_t, uint64_t, float or double, load_truth uint8_t too.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {

// y[i] = x[i * stride], where x points to elements of `dtype`.
template <class To>
void load_run(To* y, const void* x, int32_t dtype, int64_t stride, int64_t n);

// y[i] = whether x[i * stride] is nonzero.
template <class To>
void load_truth(To* y, const void* x, int32_t dtype, int64_t stride, int64_t n);

// y[i * stride] = x[i], where y points to elements of `dtype`.
template <class From>
void store_run(void* y, int32_t dtype, int64_t stride, const From* x, int64_t n);

}  // namespace dt::cpu
