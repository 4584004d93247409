// Reductions. Each kernel reads x and writes a result whose reduced dimensions have size 1; `Plan`
// finds which.
#include <cmath>
#include <limits>

#include "core/autograd/fused.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/reduce.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// Which dimensions are reduced, and the sizes with and without them.
struct Plan {
  bool reduced[DT_MAX_DIMS] = {};
  Dims kept_sizes;    // reduced dimensions have size 1
  Dims result_sizes;  // kept_sizes, or without the reduced dimensions
  int64_t count = 1;  // how many elements make one result

  // No dim, and an empty list, mean all dimensions.
  Plan(const Tensor& x, std::optional<IntList> dim, bool keepdim) : kept_sizes(x.sizes()) {
    const bool all = !dim || dim->empty();
    for (int d = 0; d < x.ndim(); ++d) reduced[d] = all;
    if (!all) {
      for (int64_t i : *dim) {
        const int d = wrap_dim(i, x.ndim());
        DT_CHECK(!reduced[d] || x.ndim() == 0, kRuntimeError, "dim ", d,
                 " appears multiple times in the list of dims");
        reduced[d] = true;
      }
    }
    for (int d = 0; d < x.ndim(); ++d) {
      if (reduced[d]) {
        count *= x.sizes()[d];
        kept_sizes[d] = 1;
      }
      if (!reduced[d] || keepdim) result_sizes.push_back(kept_sizes[d]);
    }
  }
};

DType accumulate_dtype(const Tensor& x, DType wish) {
  if (wish != DType::kDefault) {
    DT_CHECK(is_floating(wish) || !needs_graph(x), kRuntimeError,
             "Autograd not support dtype: ", type_word(wish));
    return wish;
  }
  return is_floating(x.dtype()) ? x.dtype() : kIntegerDType;
}

View kept_view(const Tensor& y, const Plan& plan) {
  return View(y, plan.kept_sizes, contiguous_strides(plan.kept_sizes), y.offset());
}

Tensor launch(Op<ReductionCall> op, const Tensor& x, const Plan& plan, DType dtype, DType compute) {
  const Tensor y = make_empty(plan.result_sizes, dtype, x.device());
  ReductionCall call;
  call.y = kept_view(y, plan);
  call.x = x;
  call.compute = info(compute).compute;
  run(op, call);
  return y;
}

// A gradient or result of the reduced shape, as wide as x again.
Tensor spread(const Tensor& g, const Dims& kept_sizes, const Dims& sizes) {
  return expand(reshape(g, kept_sizes), sizes);
}

constexpr const char* kNeedsDim =
    "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
    "the 'dim' argument.";

// The largest or smallest elements, without a record.
Tensor extremum_values(Op<ReductionCall> op, const Tensor& x, const Plan& plan, bool all) {
  DT_CHECK(x.numel() > 0 || !all, kRuntimeError, kNeedsDim);
  for (int d = 0; d < x.ndim() && plan.count == 0; ++d) {
    DT_CHECK(!plan.reduced[d] || x.sizes()[d] > 0, kIndexError, "Expected reduction dim ", d,
             " to have non-zero size.");
  }
  return launch(op, x, plan, x.dtype(), x.dtype());
}

// max and min of all elements: what equals the extremum, or is NaN as it is, shares the gradient.
Tensor extremum_of_all(Op<ReductionCall> op, const char* node, const Tensor& x) {
  const Tensor y = extremum_values(op, x, Plan(x, {}, false), true);
  if (!needs_graph(x)) return y;
  return record(node, y, {x}, [x = Saved::input(x), y = Saved::output(y)](BackwardCall& b) {
    const Tensor input = x.get(b.node);
    const Tensor hit = logical_or(eq(input, y.get(b.node)), isnan(input));
    b.results[0] = where(hit, div(b.grad(), sum(hit)), 0);
  });
}

// amax and amin: likewise, but a factor of 0 takes the gradient from the other elements.
Tensor extremum(Op<ReductionCall> op, const char* node, const Tensor& x, std::optional<IntList> dim,
                bool keepdim) {
  const bool all = !dim || dim->empty();
  const Plan plan(x, dim, keepdim);
  const Tensor y = extremum_values(op, x, plan, all);
  if (!needs_graph(x)) return y;
  return record(node, y, {x},
                [x = Saved::input(x), y = Saved::output(y), kept = plan.kept_sizes,
                 dims = Dims(dim.value_or(IntList()))](BackwardCall& b) {
                  const Tensor input = x.get(b.node);
                  const Tensor best = spread(y.get(b.node), kept, input.sizes());
                  const Tensor hit = to_dtype(eq(input, best), input.dtype());
                  const Tensor share = div(hit, sum(hit, IntList(dims), true));
                  b.results[0] = mul(share, spread(b.grad(), kept, input.sizes()));
                });
}

std::tuple<Tensor, Tensor> extremum_along(Op<ReductionAlongCall> op, const char* node,
                                          const Tensor& x, int64_t dim, bool keepdim) {
  const int d = wrap_dim(dim, x.ndim());
  if (x.ndim() == 0) {
    const Tensor at = zeros({}, kIndexDType, x.device());
    return {clone(x), at};
  }
  const Plan plan(x, IntList{d}, keepdim);
  DT_CHECK(x.sizes()[d] > 0, kIndexError, "Expected reduction dim ", d, " to have non-zero size.");
  const Tensor values = make_empty(plan.result_sizes, x.dtype(), x.device());
  const Tensor indices = make_empty(plan.result_sizes, kIndexDType, x.device());
  const Dims strides = contiguous_strides(plan.kept_sizes);
  ReductionAlongCall call;
  call.values = View(values, plan.kept_sizes, strides, 0);
  call.indices = View(indices, plan.kept_sizes, strides, 0);
  call.x = x;
  call.compute = info(x.dtype()).compute;
  run(op, call);
  record(node, values, {x},
         [d, at = Saved::output(indices, 1), kept = plan.kept_sizes,
          sizes = x.sizes()](BackwardCall& b) {
           const Tensor zero = zeros(sizes, b.grad().dtype(), b.grad().device());
           const Tensor positions = reshape(at.get(b.node), kept);
           b.results[0] = scatter(zero, d, positions, reshape(b.grad(), kept));
         });
  return {values, indices};
}

Tensor extremum_index(Op<ReductionAlongCall> op, const Tensor& x, std::optional<int64_t> dim,
                      bool keepdim) {
  const GradMode no_grad(false);
  if (dim) {
    return std::get<1>(extremum_along(op, "", x, *dim, keepdim));
  }
  DT_CHECK(x.numel() > 0, kIndexError, kNeedsDim);
  const Tensor at = std::get<1>(extremum_along(op, "", reshape(x, {-1}), 0, false));
  return keepdim ? unsafe_view(at, Dims(x.ndim(), 1)) : at;
}

Tensor truth(Op<ReductionCall> op, const Tensor& x, std::optional<IntList> dim, bool keepdim) {
  const bool none = dim && dim->empty();  // unlike other reductions, not all of them
  const Tensor y =
      none ? ne(contiguous(x), 0) : launch(op, x, Plan(x, dim, keepdim), kMaskDType, x.dtype());
  return x.dtype() == kByteDType ? to_dtype(y, kByteDType) : y;
}

// The product of x along dimension d by halves: right at zeros, at every order of derivative.
Tensor product_by_halves(Tensor x, int d) {
  if (x.sizes()[d] == 0) return exp(sum(x, {{d}}, true));  // 1, and x has a part in it
  while (x.sizes()[d] > 1) {
    const int64_t n = x.sizes()[d], half = n / 2;
    Tensor product = mul(slice(x, d, 0, half, 1), slice(x, d, half, 2 * half, 1));
    x = n % 2 ? cat({product, slice(x, d, n - 1, n, 1)}, d) : product;
  }
  return x;
}

}  // namespace

Tensor sum(const Tensor& input, std::optional<IntList> dim, bool keepdim, DType dtype) {
  const DType out = accumulate_dtype(input, dtype);
  // Elements are converted before they are added: 0.5 + 0.5 is 0 in integers, 1 - 1 true in bool.
  const bool cuts = is_floating(input.dtype()) ? !is_floating(out) : is_bool(out);
  if (cuts && input.dtype() != out) return sum(to_dtype(input, out), dim, keepdim, out);
  const Plan plan(input, dim, keepdim);
  const Tensor y = launch(op::sum, input, plan, out, out);
  return record("SumBackward0", y, {input},
                [kept = plan.kept_sizes, sizes = input.sizes()](BackwardCall& b) {
                  b.results[0] = spread(b.grad(), kept, sizes);
                });
}

Tensor mean(const Tensor& input, std::optional<IntList> dim, bool keepdim, DType dtype) {
  const DType out = dtype == DType::kDefault ? input.dtype() : dtype;
  DT_CHECK(is_floating(out), kRuntimeError,
           "could not infer output dtype. Input dtype must be either a floating point or complex "
           "dtype. Got: ",
           type_word(out));
  const Plan plan(input, dim, keepdim);
  const Tensor y = launch(op::mean, input, plan, out, out);
  return record(
      "MeanBackward0", y, {input},
      [kept = plan.kept_sizes, sizes = input.sizes(), n = double(plan.count)](BackwardCall& b) {
        // Spread first, as PyTorch does: a hook may write to what comes out of a division.
        b.results[0] = div(spread(b.grad(), kept, sizes), n);
      });
}

Tensor prod(const Tensor& input, std::optional<int64_t> dim, bool keepdim, DType dtype) {
  const Tensor x = to_dtype(input, accumulate_dtype(input, dtype));
  const int d = wrap_dim(dim.value_or(0), x.ndim());
  if (x.ndim() == 0) return clone(x);
  if (!dim) {
    const Tensor y = prod(reshape(x, {-1}), 0, false, x.dtype());
    return keepdim ? unsafe_view(y, Dims(x.ndim(), 1)) : y;
  }
  const Plan plan(x, IntList{d}, keepdim);
  const Tensor y = launch(op::prod, x, plan, x.dtype(), x.dtype());
  if (!needs_graph(x)) return y;
  const auto composition = [d, sizes = plan.result_sizes](const std::vector<Tensor>& in) {
    return reshape(product_by_halves(in[0], d), sizes);
  };
  return record("ProdBackward0", y, {x},
                [composition, saved = std::vector<Saved>{Saved::input(x)}](BackwardCall& b) {
                  const GradMode grad(true);
                  backward_by_composition(b, saved, composition);
                });
}

Tensor max(const Tensor& input) {
  return extremum_of_all(op::amax, "MaxBackward1", input);
}
Tensor min(const Tensor& input) {
  return extremum_of_all(op::amin, "MinBackward1", input);
}
Tensor amax(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  return extremum(op::amax, "AmaxBackward0", input, dim, keepdim);
}
Tensor amin(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  return extremum(op::amin, "AminBackward0", input, dim, keepdim);
}
std::tuple<Tensor, Tensor> max_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return extremum_along(op::max_dim, "MaxBackward0", input, dim, keepdim);
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return extremum_along(op::min_dim, "MinBackward0", input, dim, keepdim);
}
Tensor argmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  DT_CHECK(!is_bool(input.dtype()), kRuntimeError, "does not support bool input");
  return extremum_index(op::max_dim, input, dim, keepdim);
}
Tensor argmin(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  DT_CHECK(!is_bool(input.dtype()), kRuntimeError, "does not support bool input");
  return extremum_index(op::min_dim, input, dim, keepdim);
}
Tensor any(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  return truth(op::any, input, dim, keepdim);
}
Tensor all(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  return truth(op::all, input, dim, keepdim);
}

namespace {

// What var and std ask for.
struct Deviation {
  Plan plan;
  Dims dims;  // none: all
  bool of_all;
  double correction;

  Deviation(const Tensor& x, std::optional<IntList> dim, const std::optional<Scalar>& correction,
            bool keepdim)
      : plan(x, dim, keepdim),
        dims(dim.value_or(IntList())),
        of_all(!dim || x.ndim() == 0),
        correction(correction.value_or(1).to_double()) {}

  // The variance, or its root.
  Tensor compute_of(const Tensor& x, bool root) const {
    DT_CHECK(is_floating(x.dtype()), kRuntimeError,
             "std and var only support floating point and complex dtypes");
    const Tensor y = make_empty(plan.result_sizes, x.dtype(), x.device());
    VarCall call;
    call.y = kept_view(y, plan);
    call.x = x;
    call.root = root;
    call.correction = correction;
    run(op::var, call);
    return y;
  }

  // Of the variance. Without freedom it is what PyTorch says: of all elements together infinite.
  Tensor gradient(const Tensor& x, const Tensor& grad) const {
    const Tensor center = mean(x, IntList(dims), true);
    const Tensor g = spread(grad, plan.kept_sizes, x.sizes());
    const double freedom = double(plan.count) - correction;
    if (of_all && freedom <= 0) {
      const double inf = std::numeric_limits<double>::infinity();
      return mul(g, where(eq(x, center), std::nan(""), inf));
    }
    return mul(mul(sub(x, center), g), 2 / freedom);
  }
};

}  // namespace

Tensor var(const Tensor& input, std::optional<IntList> dim, const std::optional<Scalar>& correction,
           bool keepdim) {
  const Deviation deviation(input, dim, correction, keepdim);
  const Tensor y = deviation.compute_of(input, false);
  if (!needs_graph(input)) return y;
  return record("VarBackward0", y, {input}, [x = Saved::input(input), deviation](BackwardCall& b) {
    b.results[0] = deviation.gradient(x.get(b.node), b.grad());
  });
}

// The gradient is 0 where the deviation is.
Tensor std(const Tensor& input, std::optional<IntList> dim, const std::optional<Scalar>& correction,
           bool keepdim) {
  const Deviation deviation(input, dim, correction, keepdim);
  const Tensor y = deviation.compute_of(input, true);
  if (!needs_graph(input)) return y;
  return record("StdBackward0", y, {input},
                [x = Saved::input(input), y = Saved::output(y), deviation](BackwardCall& b) {
                  const Tensor result = y.get(b.node);
                  const Tensor g = masked_fill(div(b.grad(), mul(result, 2)), eq(result, 0), 0);
                  b.results[0] = deviation.gradient(x.get(b.node), g);
                });
}

namespace {

// d|x|_p/dx * g for p != 0, with PyTorch's subgradients: 0 where the norm is 0; ties of an infinite
// norm share.
Tensor norm_gradient(const Tensor& x, const Tensor& y, const Tensor& g, double p,
                     const Dims& dims) {
  if (p == 1) return mul(sign(x), g);
  const Tensor zero = eq(y, 0);
  if (p == 2) return mul(g, masked_fill(div(x, y), zero, 0));
  const Tensor magnitude = abs(x);
  if (std::isinf(p)) {
    const Tensor hit = logical_or(eq(magnitude, y), isnan(magnitude));
    return mul(sign(x), mul(div(g, sum(hit, IntList(dims), true)), hit));
  }
  if (p >= 2) {
    const Tensor scale = masked_fill(div(g, pow(y, p - 1)), zero, 0);
    return mul(mul(x, pow(magnitude, p - 2)), scale);
  }
  const Tensor scaled = masked_fill(mul(sign(x), pow(magnitude, p - 1)), eq(x, 0), 0);
  if (p < 1) return mul(mul(scaled, g), pow(y, 1 - p));
  return mul(scaled, masked_fill(div(g, pow(y, p - 1)), zero, 0));
}

// Of nothing there is a norm only where a sum is.
void check_has_elements(const Tensor& x, double order, std::optional<IntList> dim) {
  if (x.numel() > 0) return;
  DT_CHECK(dim && !dim->empty(), kRuntimeError, "linalg.vector_norm cannot compute the ", order,
           " norm on an empty tensor because the operation does not have an identity");
  for (int64_t d : *dim) {
    DT_CHECK(x.size(d) > 0, kRuntimeError, "linalg.vector_norm cannot compute the ", order,
             " norm on the dimension ", d,
             "because this dimension is empty and the operation does not have an identity");
  }
}

}  // namespace

Tensor norm(const Tensor& input, const Scalar& p, std::optional<IntList> dim, bool keepdim,
            DType dtype) {
  const DType given = input.dtype(), wanted = dtype == DType::kDefault ? given : dtype;
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
  const Tensor x = to_dtype(input, wanted);
  const Plan plan(x, dim, keepdim);
  const double order = p.to_double();
  if (order < 0 || std::isinf(order)) check_has_elements(x, order, dim);
  const Tensor y = make_empty(plan.result_sizes, x.dtype(), x.device());
  NormCall call;
  call.y = kept_view(y, plan);
  call.x = x;
  call.p = order;
  run(op::norm, call);
  if (!needs_graph(x)) return y;
  return record("LinalgVectorNormBackward0", y, {x},
                [x = Saved::input(x), y = Saved::output(y), order, kept = plan.kept_sizes,
                 dims = Dims(dim.value_or(IntList()))](BackwardCall& b) {
                  if (order == 0) return;  // a count depends on no element
                  const Tensor input = x.get(b.node);
                  b.results[0] = norm_gradient(input, spread(y.get(b.node), kept, input.sizes()),
                                               spread(b.grad(), kept, input.sizes()), order, dims);
                });
}

Tensor logsumexp(const Tensor& input, IntList dim, bool keepdim) {
  const Tensor x = is_floating(input.dtype()) ? input : to_dtype(input, context().default_dtype);
  const Plan plan(x, dim, keepdim);
  Tensor y;
  {
    const GradMode no_grad(false);
    Tensor top = zeros(plan.kept_sizes, x.dtype(), x.device());
    if (plan.count > 0) top = amax(x, dim, true);
    top = masked_fill(top, isinf(top), 0);
    y = unsafe_view(add(log(sum(exp(sub(x, top)), dim, true)), top), plan.result_sizes);
  }
  if (!needs_graph(x)) return y;
  return record(
      "LogsumexpBackward0", y, {x},
      [x = Saved::input(x), y = Saved::output(y), kept = plan.kept_sizes](BackwardCall& b) {
        const Tensor input = x.get(b.node);
        const Tensor whole = spread(y.get(b.node), kept, input.sizes());
        const Tensor share = exp(sub(input, whole));
        b.results[0] = mul(spread(b.grad(), kept, input.sizes()), share);
      });
}

Tensor cumsum(const Tensor& input, int64_t dim, DType dtype) {
  const int d = wrap_dim(dim, input.ndim());
  const Tensor x = to_dtype(input, accumulate_dtype(input, dtype));
  if (x.ndim() == 0) return clone(x);
  DT_CHECK(!is_bool(x.dtype()) || x.numel() == 0, kNotImplemented,
           "\"cumsum_out_cpu\" not implemented for 'Bool'");
  const Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  CumsumCall call;
  call.y = y;
  call.x = x;
  call.compute = info(x.dtype()).compute;
  call.dim = d;
  run(op::cumsum, call);
  return record("CumsumBackward0", y, {x},
                [d](BackwardCall& b) { b.results[0] = flip(cumsum(flip(b.grad(), {d}), d), {d}); });
}

bool equal(const Tensor& input, const Tensor& other) {
  if (input.sizes() != other.sizes()) return false;
  const GradMode no_grad(false);
  return item(all(eq(input, other))).to_bool();
}

// |input - other| <= atol + rtol * |other|, where both are finite or equal.
Tensor isclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  DT_CHECK(input.dtype() == other.dtype(), kRuntimeError, type_word(input.dtype()),
           " did not match ", type_word(other.dtype()));
  DT_CHECK(rtol >= 0 && atol >= 0, kRuntimeError,
           "rtol and atol must be greater than or equal to zero");
  const GradMode no_grad(false);
  Tensor close = eq(input, other);
  if (equal_nan && is_floating(input.dtype()))
    close = logical_or(close, logical_and(isnan(input), isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  const DType wide = is_floating(input.dtype()) ? input.dtype() : context().default_dtype;
  const Tensor a = to_dtype(input, wide), b = to_dtype(other, wide);
  const Tensor difference = abs(sub(a, b));
  const Tensor near =
      logical_and(isfinite(difference), le(difference, add(mul(abs(b), rtol), atol)));
  return logical_or(close, near);
}

bool allclose(const Tensor& input, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return item(all(isclose(input, other, rtol, atol, equal_nan))).to_bool();
}

}  // namespace dt
