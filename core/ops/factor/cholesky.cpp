// Cholesky factors and what is solved with them.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/factor.gen.h"
#include "core/ops/factor/parts.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/factor.gen.h"

namespace dt {
namespace {

// With P = tril(L^T gL), its diagonal halved: gA = L^-T P L^-1, made symmetric. (Iain Murray,
// "Differentiation of the Cholesky decomposition", 2016.)
Tensor cholesky_gradient(const Tensor& l, const Tensor& g) {
  const Tensor p = tril(matmul(turned(l), g));
  const Tensor symmetric = mul(add(p, turned(tril(p, -1))), 0.5);
  const Tensor left = linalg_solve_triangular(turned(l), symmetric, true);
  return linalg_solve_triangular(l, left, false, false);
}

Tensor with_transpose(const Tensor& x) {
  return add(x, turned(x));
}

// By the factor l (or, `upper`, by l^T), of a function of l l^T whose gradient with its
// transpose is -g: -tril(g l). What lies beyond the triangle was not read.
Tensor factor_gradient(const Tensor& factor, const Tensor& g, bool upper) {
  const Tensor by_product = neg(g);
  return upper ? triu(matmul(triu(factor), by_product)) : tril(matmul(by_product, tril(factor)));
}

// The place, from 1, of the first zero on the diagonal of each; 0: there is none.
Tensor first_zero(const Tensor& factors) {
  const Tensor zeros = eq(diagonal(factors, 0, -2, -1), 0);
  const Tensor place = add(argmax(to_dtype(zeros, kDTypeOf<int32_t>), -1), 1);
  return to_dtype(mul(place, any(zeros, {{-1}})), kDTypeOf<int32_t>);
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& A, bool upper, bool check_errors) {
  check_real_square(A, "linalg.cholesky", "cholesky_cpu");
  const int64_t n = A.size(-1);
  const Tensor x = joined(upper ? turned(A) : A);
  const Tensor y = empty_matrices(A, batch_of(A), n, n), info = empty_codes(A, batch_of(A));
  CholeskyCall call;
  call.l = joined_view(upper ? turned(y) : y, 2);
  call.info = joined_view(info, 0);
  call.a = x;
  run(op::cholesky, call);
  if (check_errors) check_codes(info, Failed::kCholesky, "linalg.cholesky");
  if (!needs_graph(A)) return {y, info};
  record("LinalgCholeskyExBackward0", y, {A}, [upper, y = Saved::output(y)](BackwardCall& b) {
    const Tensor l = y.get(b.node);
    b.results[0] =
        upper ? cholesky_gradient(turned(l), turned(b.grad())) : cholesky_gradient(l, b.grad());
  });
  return {y, info};
}

Tensor linalg_cholesky(const Tensor& A, bool upper) {
  return std::get<0>(linalg_cholesky_ex(A, upper, true));
}

Tensor cholesky_solve(const Tensor& input, const Tensor& input2, bool upper) {
  DT_CHECK(input.ndim() >= 2, kRuntimeError, "b should have at least 2 dimensions, but has ",
           input.ndim(), " dimensions instead");
  DT_CHECK(input2.ndim() >= 2, kRuntimeError, "u should have at least 2 dimensions, but has ",
           input2.ndim(), " dimensions instead");
  check_same_dtype(input2, input, "cholesky_solve");
  check_real_dtype(input2, "cholesky_solve_cpu");
  const Tensor l = upper ? turned(input2.detach()) : input2.detach();
  const Tensor first = linalg_solve_triangular(l, input.detach(), false);
  const Tensor y = linalg_solve_triangular(turned(l), first, true);
  if (!needs_graph(input) && !needs_graph(input2)) return y;
  return record("CholeskySolveBackward0", y, {input, input2},
                [upper, factor = Saved::input(input2), y = Saved::output(y)](BackwardCall& b) {
                  const Tensor f = factor.get(b.node), g = cholesky_solve(b.grad(), f, upper);
                  b.results[0] = g;
                  if (!b.wants(1)) return;
                  const Tensor by_product = with_transpose(matmul(g, turned(y.get(b.node))));
                  b.results[1] = factor_gradient(f, by_product, upper);
                });
}

Tensor cholesky_inverse(const Tensor& input, bool upper) {
  check_square(input, "cholesky_inverse");
  check_real_dtype(input, "cholesky_inverse_out_cpu");
  if (input.numel() > 0) check_codes(first_zero(input), Failed::kInverse, "cholesky_inverse");
  const Tensor x = input.detach();
  const Tensor y = cholesky_solve(identities(x, batch_of(x), x.size(-1)), x, upper);
  if (!needs_graph(input)) return y;
  return record("CholeskyInverseBackward0", y, {input},
                [upper, x = Saved::input(input), y = Saved::output(y)](BackwardCall& b) {
                  const Tensor inverse = y.get(b.node);
                  const Tensor g = matmul(inverse, matmul(with_transpose(b.grad()), inverse));
                  b.results[0] = factor_gradient(x.get(b.node), g, upper);
                });
}

}  // namespace dt
