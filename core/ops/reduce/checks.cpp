#include "core/ops/reduce/checks.h"

#include "core/autograd/record.h"
#include "core/ops/checks.h"

namespace dt {

void check_accumulate_dtype(const Tensor& x, DType wish) {
  DT_CHECK(is_floating(wish) || !needs_graph(x), kRuntimeError,
           "Autograd not support dtype: ", type_word(wish));
}

void check_mean_dtype(DType dtype) {
  DT_CHECK(is_floating(dtype), kRuntimeError,
           "could not infer output dtype. Input dtype must be either a floating point or complex "
           "dtype. Got: ",
           type_word(dtype));
}

void check_cumsum(const Tensor& x) {
  DT_CHECK(!is_bool(x.dtype()) || x.numel() == 0, kNotImplemented,
           "\"cumsum_out_cpu\" not implemented for 'Bool'");
}

void check_has_extremum(const Tensor& x, Code code) {
  if (x.numel() > 0) return;
  fail(code,
       "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
       "with the 'dim' argument.");
}

void check_extremum_dim(const Tensor& x, int dim) {
  DT_CHECK(x.sizes()[dim] > 0, kIndexError, "Expected reduction dim ", dim,
           " to have non-zero size.");
}

void check_extremum(const Tensor& x, const ReducedDims& reduced, bool all) {
  if (all) check_has_extremum(x, Code::kRuntimeError);
  for (int d = 0; d < x.ndim() && reduced.count == 0; ++d) {
    if (reduced.reduced[d]) check_extremum_dim(x, d);
  }
}

void check_arg_extremum(const Tensor& input) {
  DT_CHECK(!is_bool(input.dtype()), kRuntimeError, "does not support bool input");
}

void check_deviation_dtype(const Tensor& x) {
  DT_CHECK(is_floating(x.dtype()), kRuntimeError,
           "std and var only support floating point and complex dtypes");
}

void check_norm_dtypes(DType given, DType wanted) {
  DT_CHECK(is_floating(given), kRuntimeError,
           "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
           type_word(given));
  DT_CHECK(is_floating(wanted), kRuntimeError,
           "linalg.vector_norm: dtype should be floating point or complex, but got ",
           type_word(wanted));
  DT_CHECK(promote_types(given, wanted) == wanted, kRuntimeError,
           "linalg.vector_norm: the dtype of the input (", type_word(given),
           ") should be convertible without narrowing to the specified dtype (", type_word(wanted),
           ")");
}

void check_norm_has_elements(const Tensor& x, double order, std::optional<IntList> dim) {
  if (x.numel() > 0) return;
  DT_CHECK(dim && !dim->empty(), kRuntimeError, "linalg.vector_norm cannot compute the ", order,
           " norm on an empty tensor because the operation does not have an identity");
  for (int64_t d : *dim) {
    DT_CHECK(x.size(d) > 0, kRuntimeError, "linalg.vector_norm cannot compute the ", order,
             " norm on the dimension ", d,
             "because this dimension is empty and the operation does not have an identity");
  }
}

void check_isclose(const Tensor& input, const Tensor& other, double rtol, double atol) {
  DT_CHECK(input.dtype() == other.dtype(), kRuntimeError, type_word(input.dtype()),
           " did not match ", type_word(other.dtype()));
  DT_CHECK(rtol >= 0 && atol >= 0, kRuntimeError,
           "rtol and atol must be greater than or equal to zero");
}

}  // namespace dt
