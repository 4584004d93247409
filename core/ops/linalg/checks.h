// What matrix products refuse, in PyTorch's words and order.
#pragma once

#include <optional>

#include "core/ops/linalg/multiply.h"

namespace dt {

// has_addend: the product is added to something.
void check_factors(Factor a, Factor b, bool has_addend = false);
void check_addend_dtype(const Tensor& addend, const Tensor& factor);
void check_addend_shape(const Tensor& addend, const Dims& product);
// Bools are not multiplied, but PyTorch finds that out where there is something to multiply: y is
// the result, whose elements are sums of so many terms.
void check_bool_product(const Tensor& y, int64_t terms, bool has_addend);

void check_mm(const Tensor& input, const Tensor& mat2);
void check_bmm(const Tensor& input, const Tensor& mat2);
void check_mv(const Tensor& input, const Tensor& vec);
void check_addmv(const Tensor& input, const Tensor& mat, const Tensor& vec);
void check_dot(const Tensor& input, const Tensor& tensor);
void check_addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2);
void check_baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2);
void check_addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2);
void check_matmul(const Tensor& input, const Tensor& other);

void check_vector(const Tensor& x, const char* function, const char* argument);
void check_addr_factor(const Scalar& factor, const char* name, DType dtype);
void check_inner(const Tensor& input, const Tensor& other);
void check_tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);
void check_bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                    const Tensor& bias);
void check_cross(const Tensor& input, const Tensor& other, int64_t dim);
void check_vecdot(const Tensor& x, const Tensor& y);
void check_trace(const Tensor& input);

// Of the functions of torch.linalg, whose names stand in their sentences.
void check_matrices(const Tensor& x, const char* function);
void check_square(const Tensor& x, const char* function);
void check_chain(TensorList tensors);

void check_matrix_norm(const Tensor& input, const std::optional<Scalar>& ord, IntList dim,
                       DType dtype);
void check_linalg_norm_dims(const Tensor& input, bool has_order, std::optional<IntList> dim);
void check_cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode);
void check_pdist(const Tensor& input, double p);
void check_renorm(const Tensor& input, double p, double maxnorm);

}  // namespace dt
