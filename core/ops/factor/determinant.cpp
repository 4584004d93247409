// Determinants, from LU factors.
#include <limits>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/factor/parts.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/shapes.gen.h"

namespace dt {
namespace {

struct Pieces {
  Tensor lu, pivots, diagonal, parity;  // parity: 1 or -1, of the exchanges of rows
};

Pieces pieces_of(const Tensor& A) {
  const GradMode no_grad(false);
  const auto [lu, pivots, info] = linalg_lu_factor_ex(A.detach());
  const Tensor own = arange(1, A.size(-1) + 1, 1, pivots.dtype(), A.device());
  const Tensor exchanges = sum(ne(pivots, own), {{-1}});
  const Tensor parity = add(mul(remainder(exchanges, 2), -2), 1);
  return {lu, pivots, diagonal(lu, 0, -2, -1), to_dtype(parity, A.dtype())};
}

// g times the inverse's transpose: of the transposed system. Of a singular matrix it is infinite,
// unless it has to be differentiated.
Tensor inverse_gradient(const Tensor& a, const Tensor& g) {
  const Tensor right = diag_embed(expand(unsqueeze(g, -1), batch_of(a, 1)));
  return std::get<0>(linalg_solve_ex(turned(a), right, true, grad_enabled()));
}

// The gradient of a determinant is the matrix of cofactors, which a singular matrix has as well:
// with A = U S V^T it is det(U) det(V) U D V^T, where D has the products of all other singular
// values.
Tensor cofactors(const Tensor& a) {
  const auto [u, s, vh] = linalg_svd(a, false);
  const Tensor own = eye(a.size(-1), {}, kMaskDType, a.device());
  const Tensor others = prod(where(own, 1, unsqueeze(s, -2)), -1);
  const Tensor scale = unsqueeze(mul(linalg_det(u), linalg_det(vh)), -1);
  return matmul(mul(u, unsqueeze(mul(others, scale), -2)), vh);
}

Tensor is_singular(const Tensor& determinants) {
  const double limit = determinants.dtype() == kDTypeOf<double> ? 2e-14 : 1e-5;
  return lt(abs(determinants.detach()), limit);
}

// The gradient of the determinants of a; each matrix goes its own way, whatever is beside it.
Tensor determinant_gradient(const Tensor& a, const Tensor& determinants, const Tensor& g) {
  const Tensor of_matrix = unsqueeze(unsqueeze(g, -1), -1);
  if (a.size(-1) == 1) return of_matrix;  // the determinant of an element is the element
  const Tensor weight = mul(g, determinants), singular = is_singular(determinants);
  if (!item(any(singular)).to_bool()) return inverse_gradient(a, weight);
  const Tensor own = eye(a.size(-1), {}, a.dtype(), a.device());
  const Tensor apart = unsqueeze(unsqueeze(singular, -1), -1);
  return where(apart, mul(cofactors(where(apart, a, own)), of_matrix),
               inverse_gradient(where(apart, own, a), weight));
}

}  // namespace

Tensor linalg_det(const Tensor& A) {
  check_real_square(A, "linalg.det", "lu_cpu");
  const Pieces p = pieces_of(A);
  Tensor y;
  {
    const GradMode no_grad(false);
    y = mul(prod(p.diagonal, -1), p.parity);
  }
  if (!needs_graph(A)) return y;
  return record("LinalgDetBackward0", y, {A},
                [a = Saved::input(A), y = Saved::output(y)](BackwardCall& b) {
                  b.results[0] = determinant_gradient(a.get(b.node), y.get(b.node), b.grad());
                });
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  check_square(A, "linalg.slogdet");
  check_precision(A, "linalg.slogdet");
  check_real(A, "linalg.slogdet", "lu_cpu");
  const Pieces p = pieces_of(A);
  Tensor sign_of_all, y;
  {
    const GradMode no_grad(false);
    sign_of_all = mul(prod(sign(p.diagonal), -1), p.parity);
    y = sum(log(abs(p.diagonal)), {{-1}});
  }
  if (!needs_graph(A)) return {sign_of_all, y};
  record_all("LinalgSlogdetBackward0", {sign_of_all, y}, {A},
             [a = Saved::input(A)](BackwardCall& b) {
               const Tensor& g = b.grads[1];  // the sign has none
               if (g.defined()) b.results[0] = inverse_gradient(a.get(b.node), g);
             });
  return {sign_of_all, y};
}

Tensor logdet(const Tensor& input) {
  check_real_square(input, "logdet", "lu_cpu");
  const auto [sign, logabsdet] = linalg_slogdet(input);
  return where(eq(sign, -1), std::numeric_limits<double>::quiet_NaN(), logabsdet);
}

}  // namespace dt
