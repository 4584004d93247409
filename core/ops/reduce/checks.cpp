#include "core/ops/reduce/checks.h"

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"

namespace dt {

void check_accumulate_dtype(const Tensor& x, DType wish) {
  DT_CHECK(is_floating(wish) || !needs_graph(x), kRuntimeError,
           "Autograd not support dtype: ", type_word(wish));
}

void check_mean_dtype(DType input, DType wish) {
  const bool is_wish = wish != DType::kDefault;
  const DType dtype = is_wish ? wish : input;
  DT_CHECK(is_floating(dtype), kRuntimeError, "could not infer output dtype. ",
           is_wish ? "Optional" : "Input",
           " dtype must be either a floating point or complex dtype. Got: ", type_word(dtype));
}

void check_scan(const Tensor& x, const char* name) {
  DT_CHECK(!is_bool(x.dtype()) || x.numel() == 0, kNotImplemented, "\"", name,
           "_out_cpu\" not implemented for 'Bool'");
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

void check_norm_dtypes(DType given, DType wanted, const char* function) {
  DT_CHECK(is_floating(given), kRuntimeError, function,
           ": Expected a floating point or complex tensor as input. Got ", type_word(given));
  DT_CHECK(is_floating(wanted), kRuntimeError, function,
           ": dtype should be floating point or complex, but got ", type_word(wanted));
  DT_CHECK(promote_types(given, wanted) == wanted, kRuntimeError, function,
           ": the dtype of the input (", type_word(given),
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

void check_nanmean(const Tensor& input, DType dtype) {
  DT_CHECK(is_floating(input.dtype()), kRuntimeError,
           "nanmean(): expected input to have floating point or complex dtype but got ",
           type_word(input.dtype()));
  DT_CHECK(dtype == DType::kDefault || is_floating(dtype), kRuntimeError,
           "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
           "point or complex dtype. Got: ",
           type_word(dtype));
}

void check_aminmax(const Tensor& input, std::optional<int64_t> dim) {
  DT_CHECK(dim || input.numel() > 0, kRuntimeError,
           "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
           "identity.");
}

void check_variables(const Tensor& input, const char* function) {
  DT_CHECK(input.ndim() <= 2, kRuntimeError, function,
           "(): expected input to have two or fewer dimensions but got an input with ",
           input.ndim(), " dimensions");
}

namespace {

void check_observations(const Tensor& weights, const char* name, int64_t observations) {
  DT_CHECK(weights.numel() == observations, kRuntimeError, "cov(): expected ", name,
           " to have the same numel as there are observations in the input but got ",
           weights.numel(), " != ", observations);
  const GradMode no_grad(false);
  DT_CHECK(item(all(ge(weights, 0))).to_bool(), kRuntimeError, "cov(): ", name,
           " cannot be negative");  // nor NaN
}

void check_weight_dims(const Tensor& weights, const char* name) {
  DT_CHECK(weights.ndim() <= 1, kRuntimeError, "cov(): expected ", name,
           " to have one or fewer dimensions but got ", name, " with ", weights.ndim(),
           " dimensions");
}

}  // namespace

void check_frequencies(const Tensor& fweights, int64_t observations) {
  check_weight_dims(fweights, "fweights");
  const DType t = fweights.dtype();
  DT_CHECK(!is_floating(t) && !is_bool(t), kRuntimeError,
           "cov(): expected fweights to have integral dtype but got fweights with ", type_word(t),
           " dtype");
  check_observations(fweights, "fweights", observations);
}

void check_weights(const Tensor& aweights, int64_t observations) {
  check_weight_dims(aweights, "aweights");
  DT_CHECK(is_floating(aweights.dtype()), kRuntimeError,
           "cov(): expected aweights to have floating point dtype but got aweights with ",
           type_word(aweights.dtype()), " dtype");
  check_observations(aweights, "aweights", observations);
}

void check_total_weight(const Tensor& weights, const Tensor& total) {
  if (!weights.defined()) return;
  const GradMode no_grad(false);
  DT_CHECK(item(ne(total, 0)).to_bool(), kRuntimeError,
           "cov(): weights sum to zero, can't be normalized");
}

namespace {

void check_beside(const Tensor& input, int dim, const Tensor& part) {
  if (!part.defined()) return;
  DT_CHECK(part.ndim() == input.ndim(), kRuntimeError,
           "diff expects prepend or append to be the same dimension as input");
  for (int d = 0; d < input.ndim(); ++d) {
    DT_CHECK(d == dim || part.sizes()[d] == input.sizes()[d], kRuntimeError,
             "diff expects the shape of tensor to prepend or append to match that of input except "
             "along the differencing dimension; input.size(",
             d, ") = ", input.sizes()[d], ", but got tensor.size(", d, ") = ", part.sizes()[d]);
  }
}

}  // namespace

void check_diff(const Tensor& input, int64_t n, int64_t dim, const Tensor& prepend,
                const Tensor& append) {
  DT_CHECK(input.ndim() >= 1, kRuntimeError, "diff expects input to be at least one-dimensional");
  const int d = wrap_dim(dim, input.ndim());
  check_beside(input, d, prepend);
  check_beside(input, d, append);
  DT_CHECK(n >= 0, kRuntimeError, "order must be non-negative but got ", n);
}

void check_spacing(const Tensor& x, const std::optional<Scalar>& dx, const char* function) {
  DT_CHECK(!x.defined() || !dx, kTypeError, function, "() received both `x` and `dx`");
}

void check_integrand(const Tensor& y, const Tensor& x, const char* function) {
  if (x.defined()) {
    DT_CHECK(!is_bool(y.dtype()) && !is_bool(x.dtype()), kRuntimeError, function,
             ": received a bool input for `x` or `y`, but bool is not supported");
  } else {
    DT_CHECK(!is_bool(y.dtype()), kRuntimeError, function,
             ": received a bool input for `y`, but bool is not supported");
  }
}

void check_sample_points(const Tensor& x, int64_t samples, const char* function) {
  DT_CHECK(x.numel() == samples, kRuntimeError, function,
           ": There must be one `x` value for each sample point");
}

namespace {

void check_spacings(int64_t spacings, const Tensor& input, std::optional<IntList> dim) {
  if (dim) {
    DT_CHECK(spacings == dim->size(), kRuntimeError,
             "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
             "arguments to have the same length, but got a spacing argument of length ",
             spacings, " and a dim argument of length ", dim->size(), ".");
  } else {
    DT_CHECK(spacings == input.ndim(), kRuntimeError,
             "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
             "equal to 'self.dim() = ",
             input.ndim(), "', since dim argument was not given, but got a list of length ",
             spacings);
  }
}

void check_samples(int64_t samples, int64_t edge_order) {
  DT_CHECK(samples >= edge_order + 1, kRuntimeError,
           "torch.gradient expected each dimension size to be at least edge_order+1");
}

}  // namespace

void check_gradient(const Tensor& input, std::optional<int64_t> spacings,
                    std::optional<IntList> dim, int64_t edge_order) {
  DT_CHECK(input.dtype() != kByteDType, kRuntimeError,
           "torch.gradient does not support uint8 input.");
  if (spacings) check_spacings(*spacings, input, dim);
  DT_CHECK(edge_order == 1 || edge_order == 2, kRuntimeError,
           "torch.gradient only supports edge_order=1 and edge_order=2.");
  if (!dim) {
    for (int64_t size : input.sizes()) check_samples(size, edge_order);
    return;
  }
  bool named[DT_MAX_DIMS] = {};
  for (int64_t i : *dim) {
    const int d = wrap_dim(i, input.ndim());
    check_named_once(named[d], d);
    named[d] = true;
    check_samples(input.size(i), edge_order);
  }
}

void check_coordinates(const Tensor& places, int64_t samples) {
  DT_CHECK(places.ndim() == 1, kRuntimeError,
           "torch.gradient expected each element of spacing to have one dimension, but got an "
           "element with ",
           places.ndim(), " dimensions!");
  DT_CHECK(places.numel() == samples, kRuntimeError, "torch.gradient expected ", samples,
           " coordinates along a dimension of that size, but got ", places.numel());
}

void check_isclose(const Tensor& input, const Tensor& other, double rtol, double atol) {
  DT_CHECK(input.dtype() == other.dtype(), kRuntimeError, type_word(input.dtype()),
           " did not match ", type_word(other.dtype()));
  DT_CHECK(rtol >= 0, kRuntimeError, "rtol must be greater than or equal to zero, but got ", rtol);
  DT_CHECK(atol >= 0, kRuntimeError, "atol must be greater than or equal to zero, but got ", atol);
}

}  // namespace dt
