// Norms as torch.linalg has them, and distances, which are norms of differences.
#include <cmath>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/overwrite.h"
#include "core/ops/promotion.h"
#include "core/ops/reduce.gen.h"

namespace dt {

namespace {

// `join` of the singular values of the matrices along two dimensions.
template <class Join>
Tensor norm_of_spectrum(const Tensor& input, IntList dim, bool keepdim, Join join) {
  const int first = wrap_dim(dim[0], input.ndim()), second = wrap_dim(dim[1], input.ndim());
  const Tensor y = join(linalg_svdvals(movedim(input, {first, second}, {-2, -1})));
  if (!keepdim) return y;
  return unsqueeze(unsqueeze(y, std::min(first, second)), std::max(first, second));
}

Tensor sum_last(const Tensor& s) {
  return sum(s, {{-1}});
}

}  // namespace

Tensor nuclear_norm(const Tensor& input, IntList dim, bool keepdim) {
  check_matrix_norm(input, {}, dim, DType::kDefault);
  return norm_of_spectrum(input, dim, keepdim, sum_last);
}

Tensor linalg_matrix_norm(const Tensor& input, const std::optional<Scalar>& ord, IntList dim,
                          bool keepdim, DType dtype) {
  check_matrix_norm(input, ord, dim, dtype);
  if (!ord) return norm(input, 2, dim, keepdim, dtype);
  const double order = ord->to_double();
  if (std::abs(order) == 2) {
    const Tensor x = dtype == DType::kDefault ? input : to_dtype(input, dtype);
    return norm_of_spectrum(x, dim, keepdim, [order](const Tensor& s) {
      if (order < 0) return amin(s, {{-1}});
      return s.size(-1) == 0 ? sum_last(s.detach()) : amax(s, {{-1}});  // of none: 0, a constant
    });
  }
  int along = wrap_dim(dim[0], input.ndim()), over = wrap_dim(dim[1], input.ndim());
  if (std::isinf(order)) std::swap(along, over);
  const Tensor sums = norm(input, 1, {{along}}, true, dtype);
  const bool has_none = order > 0 && sums.sizes()[over] == 0;
  const Tensor y = has_none    ? sum(sums.detach(), {{over}}, true)
                   : order > 0 ? amax(sums, {{over}}, true)
                               : amin(sums, {{over}}, true);
  if (keepdim) return y;
  const Tensor flat = squeeze(y, {{along, over}});
  return unsafe_view(flat, flat.sizes());
}

Tensor linalg_norm(const Tensor& input, const std::optional<Scalar>& ord,
                   std::optional<IntList> dim, bool keepdim, DType dtype) {
  check_linalg_norm_dims(input, ord.has_value(), dim);
  if (ord && (dim ? dim->size() == 2 : input.ndim() == 2))
    return linalg_matrix_norm(input, ord, dim.value_or(IntList({0, 1})), keepdim, dtype);
  return norm(input, ord.value_or(2), dim, keepdim, dtype);
}

// ---- distances

// Lengths are bounded after they are made: the bound takes no part in the gradient.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const DType common = promote_types(x1.dtype(), x2.dtype());
  DT_CHECK(is_floating(common), kRuntimeError,
           "expected common dtype to be floating point, yet common dtype is ", type_word(common));
  DT_CHECK(eps >= 0, kRuntimeError, "eps must be non-negative, got: ", eps);
  const Dims sizes = broadcast_sizes(x1.sizes(), x2.sizes());
  const auto direction = [&](const Tensor& input) {
    const Tensor x = expand(is_floating(input.dtype()) ? input : to_dtype(input, common), sizes);
    const Tensor length = clone(norm(x, 2, {{dim}}, true));
    {
      const GradMode no_grad(false);
      const DType dtype = length.dtype();  // of 16 bits has no such eps, but infinity
      clamp_min_(length, fits(eps, kDTypeOf<float>) && !fits(eps, dtype) ? HUGE_VAL : eps);
    }
    return div(x, length);
  };
  return sum(mul(direction(x1), direction(x2)), {{dim}});
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return norm(add(sub(x1, x2), eps), p, {{-1}}, keepdim);
}

Tensor dist(const Tensor& input, const Tensor& other, const Scalar& p) {
  return norm(sub(input, other), p);
}

namespace {

// |a|^2 - 2 a b + |b|^2 for all pairs of rows, as one product.
Tensor squared_distances(const Tensor& x1, const Tensor& x2) {
  const Tensor squares1 = sum(square(x1), {{-1}}, true), squares2 = sum(square(x2), {{-1}}, true);
  const Tensor left = cat({mul(x1, -2), squares1, ones_like(squares1)}, -1);
  const Tensor right = cat({x2, ones_like(squares2), squares2}, -1);
  return matmul(left, transpose(right, -2, -1));
}

// Equal rows have no direction from one to the other, and the gradient 0.
Tensor euclidean_distances(const Tensor& x1, const Tensor& x2) {
  Tensor y;
  {
    const GradMode no_grad(false);
    y = sqrt_(clamp_min_(squared_distances(x1, x2), 0));
  }
  if (!needs_graph(x1) && !needs_graph(x2)) return y;
  return record(
      "CdistBackward0", y, {x1, x2},
      [x1 = Saved::input(x1), x2 = Saved::input(x2), y = Saved::output(y)](BackwardCall& b) {
        const Tensor first = x1.get(b.node), second = x2.get(b.node);
        const Tensor distance = y.get(b.node);
        const Tensor w = masked_fill(div(b.grad(), distance), eq(distance, 0), 0);
        const auto pull = [](const Tensor& x, const Tensor& w, const Tensor& other) {
          return sub(mul(x, sum(w, {{-1}}, true)), matmul(w, other));
        };
        if (b.wants(0)) b.results[0] = pull(first, w, second);
        if (b.wants(1)) b.results[1] = pull(second, transpose(w, -2, -1), first);
      });
}

// How many elements are not 0 (p = 0) has a gradient, too: zeros.
Tensor lengths(const Tensor& differences, double p) {
  if (differences.size(-1) == 0) return sum(differences, {{-1}});  // also the largest of none
  const Tensor y = norm(differences, p, {{-1}});
  if (p != 0) return y;
  return record("CdistBackward0", y, {differences}, [sizes = differences.sizes()](BackwardCall& b) {
    b.results[0] = zeros(sizes, b.grad().dtype(), b.grad().device());
  });
}

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> compute_mode) {
  check_cdist(x1, x2, p, compute_mode);
  const DType dtype = x1.dtype(), wide = info(dtype).compute;  // small differences of large numbers
  if (x2.dtype() != dtype) return cdist(x1, to_dtype(x2, dtype), p, compute_mode);
  if (wide != dtype)
    return to_dtype(cdist(to_dtype(x1, wide), to_dtype(x2, wide), p, compute_mode), dtype);
  constexpr int64_t kManyRows = 25, kAlways = 1, kNever = 2;
  const int64_t mode = compute_mode.value_or(0);
  const bool is_large = x1.size(-2) > kManyRows || x2.size(-2) > kManyRows;
  if (p == 2 && (mode == kAlways || (mode != kNever && is_large)))
    return euclidean_distances(x1, x2);
  return lengths(sub(unsqueeze(x1, -2), unsqueeze(x2, -3)), p);
}

Tensor pdist(const Tensor& input, double p) {
  check_pdist(input, p);
  const DType dtype = input.dtype(), wide = info(dtype).compute;
  if (wide != dtype) return to_dtype(pdist(to_dtype(input, wide), p), dtype);
  const int64_t n = input.size(0);
  const Tensor upper = triu(ones({n, n}, kMaskDType, input.device()), 1);
  const std::vector<Tensor> pair = unbind(nonzero(upper), 1);
  return lengths(sub(index_select(input, 0, pair[0]), index_select(input, 0, pair[1])), p);
}

Tensor renorm(const Tensor& input, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  const double most = maxnorm.to_double();
  check_renorm(input, p.to_double(), most);
  const DType dtype = input.dtype(), wide = info(dtype).compute;
  if (wide != dtype) return to_dtype(renorm(to_dtype(input, wide), p, dim, maxnorm), dtype);
  const int kept = wrap_dim(dim, input.ndim());
  Dims others;
  for (int d = 0; d < input.ndim(); ++d) {
    if (d != kept) others.push_back(d);
  }
  const auto length = [&](const Tensor& x) { return norm(x, p, IntList(others), true); };
  Tensor rows = input, size = length(input.detach());
  const Tensor too_long = gt(size, most);
  if (needs_graph(input)) {
    rows = where(too_long, input, 1);  // the slope of one that stays is not that of its norm
    size = length(rows);
  }
  const Tensor scaled = mul(rows, mul(reciprocal(add(size, 1e-7)), most));
  return row_major(where(too_long, scaled, input));
}

const Tensor& renorm_(const Tensor& input, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  return overwrite_alike(input, renorm(before_overwrite(input, {input}), p, dim, maxnorm));
}

}  // namespace dt
