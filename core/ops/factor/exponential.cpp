// The exponential of matrices, and inverses of tensors.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/factor/parts.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/special.gen.h"

namespace dt {
namespace {

// The Taylor polynomial of degree 18, exact to the last place of a double where |x| <= 1: powers up
// to x^6, then Horner's rule by x^6. (Paterson and Stockmeyer, 1973.)
Tensor small_exponential(const Tensor& x) {
  constexpr int kStep = 6;
  Tensor powers[kStep + 1] = {identities(x, batch_of(x), x.size(-1)), x};
  for (int i = 2; i <= kStep; ++i) powers[i] = matmul(powers[i / 2], powers[i - i / 2]);
  Tensor y;
  for (int group = 3; group >= 0; --group) {
    if (y.defined()) y = matmul(y, powers[kStep]);
    for (int i = group == 3 ? 0 : kStep - 1; i >= 0; --i) {
      const Tensor term = div(powers[i], std::tgamma(group * kStep + i + 1));
      y = y.defined() ? add(y, term) : term;
    }
  }
  return y;
}

// exp(x) = exp(x / 2^s)^(2^s), with an s of each matrix's own such that it is not large. (Moler and
// Van Loan, "Nineteen dubious ways to compute the exponential of a matrix", 2003.)
Tensor exponential(const Tensor& x) {
  if (x.size(-1) == 1) return exp(x);
  if (is_narrow(x.dtype()))
    return to_dtype(exponential(to_dtype(x, info(x.dtype()).compute)), x.dtype());
  const Tensor size = linalg_matrix_norm(x, 1, {{-2, -1}}, true);
  const Tensor is_large = logical_and(gt(size, 1), dt::isfinite(size));
  const Tensor halvings = where(is_large, std::get<1>(dt::frexp(size)), 0);
  const int64_t most = item(max(halvings)).to_int64();
  Tensor y = small_exponential(most > 0 ? dt::ldexp(x, neg(halvings)) : x);
  for (int64_t i = 0; i < most; ++i) y = where(gt(halvings, i), matmul(y, y), y);
  return y;
}

int64_t product_of(IntList sizes) {
  return count_elements(sizes);
}

}  // namespace

// The gradient is a corner of the exponential of [[A^T, g], [0, A^T]]. (Mathias, "A chain rule for
// matrix functions and applications", 1996.)
Tensor linalg_matrix_exp(const Tensor& A) {
  check_square(A, "linalg.matrix_exp");
  DT_CHECK(is_floating(A.dtype()), kRuntimeError,
           "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ",
           type_word(A.dtype()));
  Tensor y;
  {
    const GradMode no_grad(false);
    y = A.numel() == 0 ? clone(A.detach()) : exponential(A.detach());
  }
  if (!needs_graph(A)) return y;
  return record("LinalgMatrixExpBackward0", y, {A}, [a = Saved::input(A)](BackwardCall& b) {
    const Tensor x = turned(a.get(b.node));
    const int64_t n = x.size(-1);
    const Tensor top = cat({x, b.grad()}, -1), bottom = cat({zeros_like(x), x}, -1);
    b.results[0] = narrow(narrow(linalg_matrix_exp(cat({top, bottom}, -2)), -2, 0, n), -1, n, n);
  });
}

Tensor linalg_tensorinv(const Tensor& A, int64_t ind) {
  DT_CHECK(ind > 0, kRuntimeError, "Expected a strictly positive integer for 'ind', but got ", ind);
  const int split = static_cast<int>(std::min<int64_t>(ind, A.ndim()));
  const IntList first(A.sizes().data(), split), last(A.sizes().data() + split, A.ndim() - split);
  const int64_t rows = product_of(first), columns = product_of(last);
  DT_CHECK(rows == columns, kRuntimeError,
           "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
           "prod(self.shape[:ind]), but got ",
           columns, " != ", rows);
  Dims sizes = last;
  for (const int64_t size : first) sizes.push_back(size);
  return reshape(linalg_inv(reshape(A, {rows, columns})), sizes);
}

Tensor linalg_tensorsolve(const Tensor& A, const Tensor& B, std::optional<IntList> dims) {
  Tensor a = A;
  if (dims) {
    Dims from = *dims, to;
    for (int64_t i = 0; i < from.size(); ++i) to.push_back(A.ndim() - from.size() + i);
    a = movedim(A, from, to);
  }
  DT_CHECK(B.ndim() <= a.ndim(), kRuntimeError, "linalg.tensorsolve: B has ", B.ndim(),
           " dimensions, but A only ", a.ndim());
  const IntList sizes(a.sizes().data() + B.ndim(), a.ndim() - B.ndim());
  const int64_t columns = product_of(sizes);
  DT_CHECK(columns == B.numel(), kRuntimeError,
           "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
           "prod(self.shape[:other.ndim]), but got ",
           columns, " != ", B.numel());
  const Tensor x = linalg_solve(reshape(a, {columns, columns}), reshape(B, {columns}));
  return reshape(x, sizes);
}

}  // namespace dt
