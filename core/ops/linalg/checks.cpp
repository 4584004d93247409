#include "core/ops/linalg/checks.h"

#include <cmath>

#include "core/base/error.h"
#include "core/ops/reduce/checks.h"

namespace dt {

void check_factors(Factor a, Factor b, bool has_addend) {
  DT_CHECK(a.columns() == b.rows(), kRuntimeError, "mat1 and mat2 shapes cannot be multiplied (",
           a.rows(), "x", a.columns(), " and ", b.rows(), "x", b.columns(), ")");
  const DType first = a.tensor.dtype(), second = b.tensor.dtype();
  DT_CHECK(first == second || !has_addend, kRuntimeError,
           "mat1 and mat2 must have the same dtype, but got ", type_word(first), " and ",
           type_word(second));
  DT_CHECK(first == second, kRuntimeError,
           "expected m1 and m2 to have the same dtype, but got: ", c_type_word(first),
           " != ", c_type_word(second));
}

void check_addend_dtype(const Tensor& addend, const Tensor& factor) {
  DT_CHECK(addend.dtype() == factor.dtype(), kRuntimeError,
           "self and mat2 must have the same dtype, but got ", type_word(addend.dtype()), " and ",
           type_word(factor.dtype()));
}

void check_addend_shape(const Tensor& addend, const Dims& product) {
  const int n = addend.ndim(), wanted = product.size();
  DT_CHECK(n <= wanted, kRuntimeError, "expand(", addend.sizes(), ", size=", product,
           "): the number of sizes provided (", wanted,
           ") must be greater or equal to the number of dimensions in the tensor (", n, ")");
  for (int d = wanted - 1, k = n - 1; k >= 0; --d, --k) {
    const int64_t size = addend.sizes()[k];
    DT_CHECK(size == product[d] || size == 1, kRuntimeError, "The expanded size of the tensor (",
             product[d], ") must match the existing size (", size, ") at non-singleton dimension ",
             d, ".  Target sizes: ", product, ".  Tensor sizes: ", addend.sizes());
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

void check_addmv(const Tensor& input, const Tensor& mat, const Tensor& vec) {
  DT_CHECK(mat.ndim() == 2 && vec.ndim() == 1 && input.ndim() <= 1, kRuntimeError,
           "vector + matrix @ vector expected, got ", input.ndim(), ", ", mat.ndim(), ", ",
           vec.ndim());
  const int64_t rows = mat.sizes()[0], columns = mat.sizes()[1], length = vec.sizes()[0];
  const bool fits = input.numel() == rows || input.numel() == 1;
  DT_CHECK(columns == length && fits, kRuntimeError, "size mismatch, got input (", input.numel(),
           "), mat (", rows, "x", columns, "), vec (", length, ")");
  DT_CHECK(input.dtype() == mat.dtype() && mat.dtype() == vec.dtype(), kRuntimeError,
           "addmv input tensors must have the same dtype, but got ", type_word(input.dtype()), ", ",
           type_word(mat.dtype()), ", and ", type_word(vec.dtype()));
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
  check_factors({mat1, false}, {mat2, false}, true);
}

void check_baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2) {
  DT_CHECK(input.dtype() == batch1.dtype() || batch1.dtype() != batch2.dtype(), kRuntimeError,
           "Input dtypes must be the same, got: input ", c_type_word(input.dtype()),
           ", batch1: ", c_type_word(batch1.dtype()), ", batch2: ", c_type_word(batch2.dtype()));
  check_bmm(batch1, batch2);
}

void check_addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2) {
  DT_CHECK(batch1.ndim() == 3, kRuntimeError, "batch1 must be a 3D tensor");
  DT_CHECK(batch2.ndim() == 3, kRuntimeError, "batch2 must be a 3D tensor");
  const Dims &a = batch1.sizes(), &b = batch2.sizes();
  DT_CHECK(a[0] == b[0], kRuntimeError, "batch1 and batch2 must have same number of batches, got ",
           a[0], " and ", b[0]);
  DT_CHECK(a[2] == b[1], kRuntimeError, "Incompatible matrix sizes for bmm (", a[1], "x", a[2],
           " and ", b[1], "x", b[2], ")");
  check_addend_dtype(input, batch2);
}

void check_matmul(const Tensor& input, const Tensor& other) {
  const int a = input.ndim(), b = other.ndim();
  DT_CHECK(a > 0 && b > 0, kRuntimeError,
           "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b, "D");
}

void check_vector(const Tensor& x, const char* function, const char* argument) {
  DT_CHECK(x.ndim() == 1, kRuntimeError, function, ": Expected 1-D argument ", argument,
           ", but got ", x.ndim(), "-D");
}

void check_addr_factor(const Scalar& factor, const char* name, DType dtype) {
  DT_CHECK(factor.category() != Category::BOOL || is_bool(dtype), kRuntimeError, "Boolean ", name,
           " only supported for Boolean results.");
  DT_CHECK(is_floating(dtype) || !factor.is_floating(), kRuntimeError,
           "For integral input tensors, argument ", name, " must not be a floating point number.");
}

void check_inner(const Tensor& input, const Tensor& other) {
  DT_CHECK(input.size(-1) == other.size(-1), kRuntimeError,
           "inner() the last dimension must match on both input tensors but got shapes ",
           input.sizes(), " and ", other.sizes());
}

void check_tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b) {
  DT_CHECK(dims_a.size() == dims_b.size(), kRuntimeError,
           "both dimension lists should have same length");
  DT_CHECK(a.dtype() == b.dtype(), kRuntimeError, "both inputs should have same dtype");
  for (int i = 0; i < dims_a.size(); ++i) {
    const int64_t n = a.size(dims_a[i]), m = b.size(dims_b[i]);
    DT_CHECK(n == m || n == 1 || m == 1, kRuntimeError,
             "contracted dimensions need to match, but first has size ", n, " in dim ", dims_a[i],
             " and second has size ", m, " in dim ", dims_b[i]);
  }
  // Without a dimension to sum over it is a product of elements, which bools have; of matrices not.
  const bool has_pairs = dims_a.empty() && a.numel() > 0 && b.numel() > 0;
  DT_CHECK(!is_bool(a.dtype()) || !has_pairs, kNotImplemented,
           "\"addmm_impl_cpu_\" not implemented for 'Bool'");
}

namespace {

void check_bilinear_size(int64_t got, int64_t expected, const char* what) {
  DT_CHECK(got == expected, kRuntimeError, "bilinear(): ", what,
           " size does not match weight size: got ", got, " but expected ", expected);
}

}  // namespace

void check_bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                    const Tensor& bias) {
  const int n = input1.ndim();
  DT_CHECK(n == input2.ndim(), kRuntimeError, "bilinear(): input dimensions do not match: got ", n,
           " and ", input2.ndim());
  for (int d = 0; d < n - 1; ++d) {
    DT_CHECK(input1.sizes()[d] == input2.sizes()[d], kRuntimeError,
             "bilinear(): input batch dimensions do not match at dim ", d, ": got ",
             input1.sizes()[d], " and ", input2.sizes()[d]);
  }
  DT_CHECK(weight.ndim() == 3, kRuntimeError, "bilinear(): weight must be 3-dimensional, got ",
           weight.ndim(), "-D");
  check_bilinear_size(input1.size(-1), weight.sizes()[1], "input1");
  check_bilinear_size(input2.size(-1), weight.sizes()[2], "input2");
  if (bias.defined()) check_bilinear_size(bias.size(0), weight.sizes()[0], "bias");
  const DType t = input1.dtype();
  const bool alike = input2.dtype() == t && weight.dtype() == t;
  DT_CHECK(alike && (!bias.defined() || bias.dtype() == t), kRuntimeError,
           "All tensors must have the same dtype, got input1: ", c_type_word(t),
           ", input2: ", c_type_word(input2.dtype()), ", weight: ", c_type_word(weight.dtype()),
           bias.defined() ? ", bias: " : "", bias.defined() ? c_type_word(bias.dtype()) : "");
}

void check_cross(const Tensor& input, const Tensor& other, int64_t dim) {
  DT_CHECK(input.ndim() == other.ndim(), kRuntimeError,
           "linalg.cross: inputs must have the same number of dimensions.");
  DT_CHECK(input.ndim() > 0, kIndexError, "Dimension specified as ", dim,
           " but tensor has no dimensions");
  DT_CHECK(input.size(dim) == 3 && other.size(dim) == 3, kRuntimeError,
           "linalg.cross: inputs dimension ", dim, " must have length 3. Got ", input.size(dim),
           " and ", other.size(dim));
  DT_CHECK(input.dtype() == other.dtype(), kRuntimeError, "expected scalar type ",
           type_word(input.dtype()), " but found ", type_word(other.dtype()));
  DT_CHECK(!is_bool(input.dtype()), kNotImplemented, "\"cross\" not implemented for 'Bool'");
}

void check_vecdot(const Tensor& x, const Tensor& y) {
  DT_CHECK(is_floating(x.dtype()), kRuntimeError,
           "linalg.vecdot: Expected a floating point or complex tensor as input. Got ",
           type_word(x.dtype()));
  DT_CHECK(x.dtype() == y.dtype(), kRuntimeError,
           "linalg.vecdot: Expected x and y to have the same dtype, but found x of type ",
           type_word(x.dtype()), " and y of type ", type_word(y.dtype()), " instead");
}

void check_trace(const Tensor& input) {
  DT_CHECK(input.ndim() == 2, kRuntimeError, "trace: expected a matrix, but got tensor with dim ",
           input.ndim());
  DT_CHECK(!is_bool(input.dtype()), kNotImplemented, "\"trace\" not implemented for 'Bool'");
}

void check_matrices(const Tensor& x, const char* function) {
  DT_CHECK(x.ndim() >= 2, kRuntimeError, function,
           ": The input tensor A must have at least 2 dimensions.");
}

void check_square(const Tensor& x, const char* function) {
  check_matrices(x, function);
  DT_CHECK(x.size(-1) == x.size(-2), kRuntimeError, function,
           ": A must be batches of square matrices, but they are ", x.size(-2), " by ", x.size(-1),
           " matrices");
}

namespace {

void check_chain_end(const Tensor& x, const char* which) {
  DT_CHECK(x.ndim() == 1 || x.ndim() == 2, kRuntimeError, "multi_dot(): the ", which,
           " tensor must be 1D or 2D but got ", x.ndim(), "D");
}

}  // namespace

void check_chain(TensorList tensors) {
  const int64_t n = tensors.size();
  DT_CHECK(n >= 2, kRuntimeError, "multi_dot(): expected at least 2 tensors but got ", n);
  check_chain_end(tensors[0], "first");
  check_chain_end(tensors[n - 1], "last");
  for (int64_t i = 1; i < n; ++i) {
    DT_CHECK(i == n - 1 || tensors[i].ndim() == 2, kRuntimeError, "multi_dot(): tensor ", i,
             " must be 2D but got ", tensors[i].ndim(), "D");
    DT_CHECK(tensors[i].dtype() == tensors[0].dtype(), kRuntimeError,
             "multi_dot(): all tensors must have be the same dtype but tensor 0 is ",
             c_type_word(tensors[0].dtype()), " and tensor ", i, " ",
             c_type_word(tensors[i].dtype()));
    DT_CHECK(tensors[i - 1].size(-1) == tensors[i].size(0), kRuntimeError, "multi_dot(): tensors ",
             i - 1, " and ", i, " with shapes ", tensors[i - 1].sizes(), " and ",
             tensors[i].sizes(), " cannot be multiplied");
  }
}

void check_matrix_norm(const Tensor& input, const std::optional<Scalar>& ord, IntList dim,
                       DType dtype) {
  constexpr const char* kName = "linalg.matrix_norm";
  check_matrices(input, kName);
  check_norm_dtypes(input.dtype(), dtype == DType::kDefault ? input.dtype() : dtype, kName);
  DT_CHECK(dim.size() == 2, kRuntimeError, kName, ": dim must be a 2-tuple. Got ", dim);
  const int first = wrap_dim(dim[0], input.ndim()), second = wrap_dim(dim[1], input.ndim());
  DT_CHECK(first != second, kRuntimeError, kName, ": dims must be different. Got (", dim[0], ", ",
           dim[1], ")");
  if (!ord) return;
  const double order = std::abs(ord->to_double());
  DT_CHECK(order == 1 || order == 2 || std::isinf(order), kRuntimeError, kName, ": Order ", *ord,
           " not supported.");
}

void check_linalg_norm_dims(const Tensor& input, bool has_order, std::optional<IntList> dim) {
  if (dim) {
    DT_CHECK(dim->size() == 1 || dim->size() == 2, kRuntimeError,
             "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  } else if (has_order) {
    DT_CHECK(input.ndim() == 1 || input.ndim() == 2, kRuntimeError,
             "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
             input.ndim(), "D.");
  }
}

namespace {

void check_points(const Tensor& x, const char* name) {
  DT_CHECK(x.ndim() >= 2, kRuntimeError, "cdist only supports at least 2D tensors, ", name,
           " got: ", x.ndim(), "D");
}

void check_distance_dtype(const Tensor& x, const char* name) {
  DT_CHECK(is_floating(x.dtype()), kRuntimeError, "cdist only supports floating-point dtypes, ",
           name, " got: ", type_word(x.dtype()));
}

}  // namespace

void check_cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode) {
  check_points(x1, "X1");
  check_points(x2, "X2");
  DT_CHECK(x1.size(-1) == x2.size(-1), kRuntimeError,
           "X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
           " X2: ", x2.size(-1));
  check_distance_dtype(x1, "X1");
  check_distance_dtype(x2, "X2");
  // Nothing is computed of what has no elements.
  DT_CHECK(x1.dtype() == x2.dtype() || x1.numel() == 0 || x2.numel() == 0, kRuntimeError,
           "expected scalar type ", type_word(x1.dtype()), " but found ", type_word(x2.dtype()));
  DT_CHECK(p >= 0, kRuntimeError, "cdist only supports non-negative p values");
  DT_CHECK(!mode || (*mode >= 0 && *mode <= 2), kRuntimeError,
           "possible modes: 0, 1, 2, but was: ", mode.value_or(0));
}

void check_pdist(const Tensor& input, double p) {
  DT_CHECK(input.ndim() == 2, kRuntimeError, "pdist only supports 2D tensors, got: ", input.ndim(),
           "D");
  DT_CHECK(is_floating(input.dtype()), kRuntimeError, "pdist only supports floating-point dtypes");
  DT_CHECK(p >= 0, kRuntimeError, "pdist only supports non-negative p values");
}

void check_renorm(const Tensor& input, double p, double maxnorm) {
  DT_CHECK(p > 0, kRuntimeError, "renorm: non-positive-norm not supported");
  DT_CHECK(maxnorm >= 0, kRuntimeError, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
  DT_CHECK(input.ndim() >= 2, kRuntimeError, "renorm: input needs at least 2 dimensions, got ",
           input.ndim(), " dimensions");
}

}  // namespace dt
