// Differences of neighbours, and integrals, which are sums of what lies between them.
#include <algorithm>

#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/checks.h"

namespace dt {
namespace {

Tensor without_first(const Tensor& x, int64_t dim) {
  return slice(x, dim, 1);
}

Tensor without_last(const Tensor& x, int64_t dim) {
  return slice(x, dim, 0, -1);
}

}  // namespace

Tensor diff(const Tensor& input, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  check_diff(input, n, dim, prepend, append);
  if (n == 0) return clone(input);
  std::vector<Tensor> parts;
  for (const Tensor& part : {prepend, input, append}) {
    if (part.defined()) parts.push_back(part);
  }
  Tensor y = parts.size() == 1 ? input : cat(parts, dim);
  for (int64_t i = std::min(n, y.size(dim)); i > 0; --i) {
    const Tensor right = without_first(y, dim), left = without_last(y, dim);
    y = is_bool(y.dtype()) ? logical_xor(right, left) : sub(right, left);
  }
  return y;
}

// ---- integrals

namespace {

// The distances of neighbours, broadcast against y.
Tensor distances(const Tensor& y, const Tensor& x, int64_t dim, const char* function) {
  const int d = wrap_dim(dim, y.ndim());
  Dims sizes;
  if (x.ndim() == 1) {
    check_sample_points(x, y.sizes()[d], function);
    sizes = Dims(y.ndim(), 1);
    sizes[d] = x.numel();
  } else {
    sizes = x.sizes();
    while (sizes.size() < y.ndim()) sizes.insert(0, 1);
  }
  const Tensor places = reshape(x, sizes);
  return sub(without_first(places, d), without_last(places, d));
}

// Twice the areas over each distance.
Tensor both_ends(const Tensor& y, int64_t dim) {
  return add(without_last(y, dim), without_first(y, dim));
}

}  // namespace

Tensor trapezoid(const Tensor& y, const Tensor& x, const std::optional<Scalar>& dx, int64_t dim) {
  check_spacing(x, dx, "trapezoid");
  const int d = wrap_dim(dim, y.ndim());
  if (y.size(dim) == 0) {
    Dims sizes = y.sizes();
    sizes.erase(d);
    return zeros(sizes, y.dtype(), y.device());
  }
  check_integrand(y, x, "trapezoid");
  if (x.defined())
    return true_divide(sum(mul(both_ends(y, d), distances(y, x, d, "trapezoid")), {{d}}), 2);
  const Tensor ends = mul(add(select(y, d, 0), select(y, d, -1)), 0.5);
  return mul(sub(sum(y, {{d}}), ends), dx.value_or(1).to_double());
}

Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, const std::optional<Scalar>& dx,
                            int64_t dim) {
  check_spacing(x, dx, "cumulative_trapezoid");
  const int d = wrap_dim(dim, y.ndim());
  check_integrand(y, x, "cumulative_trapezoid");
  const Tensor areas = x.defined()
                           ? mul(both_ends(y, d), distances(y, x, d, "cumulative_trapezoid"))
                           : mul(both_ends(y, d), dx.value_or(1).to_double());
  return true_divide(cumsum(areas, d), 2);
}

// ---- derivatives

namespace {

// Of three neighbours, or two: their elements times these.
struct Weights {
  Operand first, second, third;
};

Tensor weighted(const Tensor& x, int d, int64_t start, int64_t length, const Weights& w) {
  const Tensor a = mul(narrow(x, d, start, length), w.first);
  const Tensor b = mul(narrow(x, d, start + 1, length), w.second);
  return add(add(a, b), mul(narrow(x, d, start + 2, length), w.third));
}

// Of the first two elements along d, or the last two.
Tensor slope(const Tensor& x, int d, int64_t start, const Operand& distance) {
  return true_divide(sub(narrow(x, d, start + 1, 1), narrow(x, d, start, 1)), distance);
}

Tensor equally_spaced(const Tensor& x, int d, double h, int64_t edge_order) {
  const int64_t n = x.sizes()[d];
  const Tensor center = true_divide(sub(narrow(x, d, 2, n - 2), narrow(x, d, 0, n - 2)), 2 * h);
  if (edge_order == 1) return cat({slope(x, d, 0, h), center, slope(x, d, n - 2, h)}, d);
  const Tensor first = true_divide(weighted(x, d, 0, 1, {-1.5, 2.0, -0.5}), h);
  const Tensor last = true_divide(weighted(x, d, n - 3, 1, {0.5, -2.0, 1.5}), h);
  return cat({first, center, last}, d);
}

Tensor spaced_by(const Tensor& x, int d, const Tensor& places, int64_t edge_order) {
  const int64_t n = x.sizes()[d];
  Dims sizes(x.ndim(), 1);
  sizes[d] = -1;
  const Tensor gaps = reshape(sub(without_first(places, 0), without_last(places, 0)), sizes);
  const Tensor before = narrow(gaps, d, 0, n - 2), after = narrow(gaps, d, 1, n - 2);
  const Tensor both = add(before, after);
  const Tensor center = weighted(
      x, d, 0, n - 2,
      {true_divide(neg(after), mul(before, both)),
       true_divide(sub(after, before), mul(before, after)), true_divide(before, mul(after, both))});
  if (edge_order == 1)
    return cat({slope(x, d, 0, narrow(gaps, d, 0, 1)), center,
                slope(x, d, n - 2, narrow(gaps, d, n - 2, 1))},
               d);
  const auto at_border = [&](int64_t start, double sign, const Tensor& near, const Tensor& far) {
    const Tensor p = near, q = far, r = add(p, q);  // the gaps beside the border and behind it
    const Tensor border = mul(true_divide(add(mul(p, 2), q), mul(p, r)), -sign);
    const Tensor middle = mul(true_divide(r, mul(p, q)), sign);
    const Tensor end = mul(true_divide(p, mul(q, r)), -sign);
    return sign > 0 ? weighted(x, d, start, 1, {border, middle, end})
                    : weighted(x, d, start, 1, {end, middle, border});
  };
  const auto gap = [&](const Tensor& of, int64_t i) { return narrow(of, d, i, 1); };
  return cat({at_border(0, 1, gap(before, 0), gap(after, 0)), center,
              at_border(n - 3, -1, gap(after, n - 3), gap(before, n - 3))},
             d);
}

Dims dims_or_all(const Tensor& x, std::optional<IntList> dim) {
  Dims dims;
  if (!dim) {
    for (int d = 0; d < x.ndim(); ++d) dims.push_back(d);
  } else {
    for (int64_t d : *dim) dims.push_back(wrap_dim(d, x.ndim()));
  }
  return dims;
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& input, std::optional<Span<const double>> spacing,
                             std::optional<IntList> dim, int64_t edge_order) {
  check_gradient(input, spacing ? std::optional(spacing->size()) : std::nullopt, dim, edge_order);
  std::vector<Tensor> slopes;
  for (int64_t d : dims_or_all(input, dim)) {
    const double h = spacing ? (*spacing)[static_cast<int64_t>(slopes.size())] : 1;
    slopes.push_back(equally_spaced(input, static_cast<int>(d), h, edge_order));
  }
  return slopes;
}

std::vector<Tensor> gradient_at(const Tensor& input, TensorList coordinates,
                                std::optional<IntList> dim, int64_t edge_order) {
  check_gradient(input, coordinates.size(), dim, edge_order);
  std::vector<Tensor> slopes;
  for (int64_t d : dims_or_all(input, dim)) {
    const Tensor& places = coordinates[static_cast<int64_t>(slopes.size())];
    check_coordinates(places, input.sizes()[d]);
    slopes.push_back(spaced_by(input, static_cast<int>(d), places, edge_order));
  }
  return slopes;
}

}  // namespace dt
