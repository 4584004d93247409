// What ops that make and copy tensors refuse, in PyTorch's words and order.
#pragma once

#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt {

void check_empty_format(MemoryFormat format);
void check_contiguous_format(MemoryFormat format);
void check_channels_last_rank(int64_t ndim);
// So many values of `function`'s, which are called `what`.
void check_shape_holds(const char* function, const char* what, const Dims& sizes, int64_t n);
void check_arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype);
void check_count(double count);
// Integers from start to end, whose distance must be one.
void check_integer_range(const Scalar& start, const Scalar& end, const Scalar& step);
void check_linspace_steps(int64_t steps);
void check_linspace(const Scalar& start, const Scalar& end, DType dtype);
void check_logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                    DType dtype);
void check_strided(IntList size, IntList stride);
void check_eye(int64_t rows, int64_t columns);

void check_copy_sizes(const Tensor& self, const Tensor& src);
void check_fill(const Tensor& self, const Operand& value);

}  // namespace dt
