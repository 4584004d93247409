// What matrix products refuse, in PyTorch's words and order.
#pragma once

#include "core/ops/linalg/multiply.h"

namespace dt {

void check_factors(Factor a, Factor b);
void check_addend_dtype(const Tensor& addend, const Tensor& factor);
void check_addend_shape(const Tensor& addend, int64_t rows, int64_t columns);
// Bools are not multiplied, but PyTorch finds that out where there is something to multiply: y is
// the result, whose elements are sums of so many terms.
void check_bool_product(const Tensor& y, int64_t terms, bool has_addend);

void check_mm(const Tensor& input, const Tensor& mat2);
void check_bmm(const Tensor& input, const Tensor& mat2);
void check_mv(const Tensor& input, const Tensor& vec);
void check_dot(const Tensor& input, const Tensor& tensor);
void check_addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2);
void check_matmul(const Tensor& input, const Tensor& other);

}  // namespace dt
