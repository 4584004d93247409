#include "core/ops/linalg/checks.h"

#include "core/base/error.h"

namespace dt {

void check_factors(Factor a, Factor b) {
  DT_CHECK(a.columns() == b.rows(), kRuntimeError, "mat1 and mat2 shapes cannot be multiplied (",
           a.rows(), "x", a.columns(), " and ", b.rows(), "x", b.columns(), ")");
  DT_CHECK(a.tensor.dtype() == b.tensor.dtype(), kRuntimeError,
           "expected m1 and m2 to have the same dtype, but got: ", c_type_word(a.tensor.dtype()),
           " != ", c_type_word(b.tensor.dtype()));
}

void check_addend_dtype(const Tensor& addend, const Tensor& factor) {
  DT_CHECK(addend.dtype() == factor.dtype(), kRuntimeError,
           "self and mat2 must have the same dtype, but got ", type_word(addend.dtype()), " and ",
           type_word(factor.dtype()));
}

void check_addend_shape(const Tensor& addend, int64_t rows, int64_t columns) {
  const int n = addend.ndim();
  DT_CHECK(n <= 2, kRuntimeError, "expand(", addend.sizes(), ", size=[", rows, ", ", columns,
           "]): the number of sizes provided (2) must be greater or equal to the number of "
           "dimensions in the tensor (",
           n, ")");
  const int64_t wanted[] = {rows, columns};
  for (int d = 1, k = n - 1; k >= 0; --d, --k) {
    const int64_t size = addend.sizes()[k];
    DT_CHECK(size == wanted[d] || size == 1, kRuntimeError, "The expanded size of the tensor (",
             wanted[d], ") must match the existing size (", size, ") at non-singleton dimension ",
             d, ".  Target sizes: [", rows, ", ", columns, "].  Tensor sizes: ", addend.sizes());
  }
}

void check_bool_product(const Tensor& y, int64_t terms, bool has_addend) {
  const bool is_done = y.numel() == 0 || (terms == 0 && !has_addend);
  DT_CHECK(is_done, kNotImplemented, y.ndim() == 3 ? "\"bmm\"" : "\"addmm_impl_cpu_\"",
           " not implemented for 'Bool'");
}

void check_mm(const Tensor& input, const Tensor& mat2) {
  DT_CHECK(input.ndim() == 2, kRuntimeError, "self must be a matrix");
  DT_CHECK(mat2.ndim() == 2, kRuntimeError, "mat2 must be a matrix");
  check_factors({input, false}, {mat2, false});
}

void check_bmm(const Tensor& input, const Tensor& mat2) {
  DT_CHECK(input.ndim() == 3, kRuntimeError, "batch1 must be a 3D tensor");
  DT_CHECK(mat2.ndim() == 3, kRuntimeError, "batch2 must be a 3D tensor");
  DT_CHECK(mat2.sizes()[0] == input.sizes()[0] && mat2.sizes()[1] == input.sizes()[2],
           kRuntimeError, "Expected size for first two dimensions of batch2 tensor to be: [",
           input.sizes()[0], ", ", input.sizes()[2], "] but got: [", mat2.sizes()[0], ", ",
           mat2.sizes()[1], "].");
  DT_CHECK(input.dtype() == mat2.dtype(), kRuntimeError, "expected scalar type ",
           type_word(input.dtype()), " but found ", type_word(mat2.dtype()));
}

void check_mv(const Tensor& input, const Tensor& vec) {
  DT_CHECK(input.ndim() == 2 && vec.ndim() == 1, kRuntimeError,
           "vector + matrix @ vector expected, got 1, ", input.ndim(), ", ", vec.ndim());
  const int64_t rows = input.sizes()[0], columns = input.sizes()[1], length = vec.sizes()[0];
  DT_CHECK(columns == length, kRuntimeError, "size mismatch, got input (", rows, "), mat (", rows,
           "x", columns, "), vec (", length, ")");
  DT_CHECK(input.dtype() == vec.dtype(), kRuntimeError,
           "addmv input tensors must have the same dtype, but got ", type_word(vec.dtype()), ", ",
           type_word(input.dtype()), ", and ", type_word(vec.dtype()));
}

void check_dot(const Tensor& input, const Tensor& tensor) {
  DT_CHECK(input.ndim() == 1 && tensor.ndim() == 1, kRuntimeError, "1D tensors expected, but got ",
           input.ndim(), "D and ", tensor.ndim(), "D tensors");
  DT_CHECK(input.dtype() == tensor.dtype(), kRuntimeError,
           "dot : expected both vectors to have same dtype, but found ", type_word(input.dtype()),
           " and ", type_word(tensor.dtype()));
  DT_CHECK(!is_bool(input.dtype()), kNotImplemented, "\"dot\" not implemented for 'Bool'");
  const int64_t n = input.numel();
  DT_CHECK(n == tensor.numel(), kRuntimeError, "inconsistent tensor size, expected tensor ",
           input.sizes(), " and src ", tensor.sizes(),
           " to have the same number of elements, but got ", n, " and ", tensor.numel(),
           " elements respectively");
}

void check_addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2) {
  DT_CHECK(mat1.ndim() == 2, kRuntimeError, "mat1 must be a matrix, got ", mat1.ndim(),
           "-D tensor");
  DT_CHECK(mat2.ndim() == 2, kRuntimeError, "mat2 must be a matrix, got ", mat2.ndim(),
           "-D tensor");
  check_addend_dtype(input, mat2);
  check_factors({mat1, false}, {mat2, false});
}

void check_matmul(const Tensor& input, const Tensor& other) {
  const int a = input.ndim(), b = other.ndim();
  DT_CHECK(a > 0 && b > 0, kRuntimeError,
           "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b, "D");
}

}  // namespace dt
