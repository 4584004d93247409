// LU factors: lu_factor, lu, lu_unpack, lu_solve.
#include <algorithm>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/factor/parts.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/factor.gen.h"

namespace dt {
namespace {

Tensor permutation_of(const Tensor& pivots, int64_t rows) {
  const Tensor from = joined(pivots, 1);
  const Tensor order =
      make_empty(sizes_of(batch_of(pivots, 1), {rows}), kIndexDType, pivots.device());
  LuPermutationCall call;
  call.order = joined_view(order, 1);
  call.pivots = from;
  run(op::lu_permutation, call);
  return order;
}

// Row order[i] of x becomes row i.
Tensor permuted(const Tensor& x, const Tensor& order) {
  return gather(x, -2, expand(unsqueeze(order, -1), x.sizes()));
}

struct Factors {
  Tensor l, u;
};

Factors parts_of(const Tensor& lu) {
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const Tensor one = eye(m, k, lu.dtype(), lu.device());
  return {add(tril(narrow(lu, -1, 0, k), -1), one), triu(narrow(lu, -2, 0, k))};
}

Tensor divided_right(const Tensor& x, const Tensor& u) {  // x @ u^-T
  return linalg_solve_triangular(turned(u), x, false, false);
}

// What arrives at A without the exchange of its rows. With P = tril(L^T gL, -1) + triu(gU U^T) it
// is L^-T P U^-T where A is square. A wide A = [A1 A2] has U2 = L^-1 A2, and a tall one of two
// parts L2 = A2 U^-1, which lead back to that. (Giles, "Collected matrix derivative results for
// forward and reverse mode algorithmic differentiation", 2008.)
Tensor factors_gradient(const Factors& f, const Tensor& g_l, const Tensor& g_u) {
  const int64_t m = f.l.size(-2), n = f.u.size(-1), k = std::min(m, n);
  const Tensor l = narrow(f.l, -2, 0, k), u = narrow(f.u, -1, 0, k);
  Tensor lower = matmul(turned(l), narrow(g_l, -2, 0, k));
  Tensor upper = matmul(narrow(g_u, -1, 0, k), turned(u));
  Tensor rest;
  if (m < n) {
    const Tensor g = narrow(g_u, -1, k, n - k);
    lower = sub(lower, matmul(g, turned(narrow(f.u, -1, k, n - k))));
    rest = linalg_solve_triangular(turned(l), g, true, true, true);
  } else if (m > n) {
    const Tensor g = narrow(g_l, -2, k, m - k);
    upper = sub(upper, matmul(turned(narrow(f.l, -2, k, m - k)), g));
    rest = divided_right(g, u);
  }
  const Tensor middle = divided_right(add(tril(lower, -1), triu(upper)), u);
  const Tensor first = linalg_solve_triangular(turned(l), middle, true, true, true);
  return m == n ? first : cat({first, rest}, m < n ? -1 : -2);
}

void check_pivoting(const Tensor& A, bool pivot, const char* function) {
  DT_CHECK(A.ndim() >= 2, kRuntimeError, function,
           ": Expected tensor with 2 or more dimensions. Got size: ", A.sizes(), " instead");
  check_real_dtype(A, "lu_cpu");
  DT_CHECK(pivot, kRuntimeError,
           "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

Tensor solution(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool adjoint) {
  const Tensor factors = joined(lu), right = joined(b), exchanges = contiguous(joined(pivots, 1));
  const Tensor x = empty_matrices(b, batch_of(b), b.size(-2), b.size(-1));
  LuSolveCall call;
  call.x = joined_view(x, 2);
  call.lu = factors;
  call.pivots = exchanges;
  call.b = right;
  call.adjoint = adjoint;
  run(op::lu_solve, call);
  return x;
}

// The gradient of a solution by the matrix's factors, from the solution itself.
Tensor solution_gradient(const Tensor& g, const Tensor& lu, const Tensor& pivots, const Tensor& x,
                         bool left, bool adjoint) {
  const Factors f = parts_of(lu);
  const Tensor ul = turned(f.u), ll = turned(f.l);
  const Tensor outer = neg(left == adjoint ? matmul(left ? x : turned(x), left ? turned(g) : g)
                                           : matmul(left ? g : turned(g), left ? turned(x) : x));
  if (left != adjoint) {
    const Tensor whole = linalg_solve_triangular(ul, outer, false);
    const Tensor lower = linalg_solve_triangular(ll, matmul(whole, ul), true, true, true);
    return add(tril(lower, -1), triu(whole));
  }
  const Tensor order = permutation_of(pivots, lu.size(-1));
  const Tensor exchanged = turned(permuted(turned(permuted(outer, order)), order));
  const Tensor whole = linalg_solve_triangular(ll, exchanged, true, false, true);
  const Tensor upper = linalg_solve_triangular(ul, matmul(ll, whole), false, false);
  return add(tril(whole, -1), triu(upper));
}

// A device would wait: its kernel passes over what is out of range.
bool are_in_range(const Tensor& pivots, int64_t least, int64_t most) {
  if (pivots.device() != kCpu) return true;
  const Tensor all = contiguous(pivots);
  const auto* data = all.data_as<const int32_t>();
  return std::all_of(data, data + all.numel(), [=](int32_t i) { return i >= least && i <= most; });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot,
                                                       bool check_errors) {
  check_pivoting(A, pivot, "torch.lu_factor");
  const int64_t m = A.size(-2), n = A.size(-1);
  const Dims batch = batch_of(A);
  const Tensor x = joined(A), lu = empty_matrices(A, batch, m, n), info = empty_codes(A, batch);
  const Tensor pivots = empty_codes(A, sizes_of(batch, {std::min(m, n)}));
  LuFactorCall call;
  call.lu = joined_view(lu, 2);
  call.pivots = joined_view(pivots, 1);
  call.info = joined_view(info, 0);
  call.a = x;
  run(op::lu_factor, call);
  if (check_errors) check_codes(info, Failed::kLu, "torch.linalg.lu_factor");
  if (!needs_graph(A)) return {lu, pivots, info};
  const Saved factors = Saved::output(lu), exchanges = Saved::input(pivots);
  record("LinalgLuFactorExBackward0", lu, {A}, [factors, exchanges](BackwardCall& b) {
    const Tensor lu = factors.get(b.node), pivots = exchanges.get(b.node);
    const int64_t k = std::min(lu.size(-2), lu.size(-1));
    const Tensor g = b.grad(), g_l = tril(narrow(g, -1, 0, k), -1);
    const Tensor gradient = factors_gradient(parts_of(lu), g_l, triu(narrow(g, -2, 0, k)));
    b.results[0] = permuted(gradient, argsort(permutation_of(pivots, lu.size(-2))));
  });
  return {lu, pivots, info};
}

std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot) {
  const auto [lu, pivots, info] = linalg_lu_factor_ex(A, pivot, true);
  return {lu, pivots};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots,
                                             bool unpack_data, bool unpack_pivots) {
  DT_CHECK(LU_data.ndim() >= 2, kRuntimeError,
           "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: ",
           LU_data.sizes(), " instead");
  DT_CHECK(
      !unpack_pivots || LU_pivots.dtype() == kDTypeOf<int32_t>, kRuntimeError,
      "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
      "Note: this function is intended to be used with the output produced by "
      "torch.linalg.lu_factor");
  DT_CHECK(!unpack_pivots || LU_pivots.ndim() >= 1, kRuntimeError,
           "torch.lu_unpack: Expected LU_pivots with 1 or more dimensions");
  DT_CHECK(
      !unpack_pivots || are_in_range(LU_pivots, 1, LU_data.size(-2)), kRuntimeError,
      "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly "
      "pass the result of lu_factor?");
  Tensor p = make_empty({0}, LU_data.dtype(), LU_data.device());
  Factors f = {make_empty({0}, LU_data.dtype(), LU_data.device()), p};
  if (unpack_data) f = parts_of(LU_data);
  if (unpack_pivots) {
    const int64_t m = LU_data.size(-2);
    const Tensor order = argsort(permutation_of(LU_pivots, m));
    p = permuted(identities(LU_data, batch_of(LU_data), m), order);
  }
  return {p, f.l, f.u};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot) {
  check_pivoting(A, pivot, "linalg.lu");
  const auto [lu, pivots, info] = linalg_lu_factor_ex(A.detach(), pivot);
  const auto [p, l, u] = lu_unpack(lu, pivots);
  if (!needs_graph(A)) return {p, l, u};
  const Saved exchange = Saved::input(p), lower = Saved::output(l, 0), upper = Saved::output(u, 1);
  record_all("LinalgLuBackward0", {l, u}, {A}, [exchange, lower, upper](BackwardCall& b) {
    const Factors f = {lower.get(b.node), upper.get(b.node)};
    const Tensor g_l = or_zeros(b.grads[0], f.l), g_u = or_zeros(b.grads[1], f.u);
    b.results[0] = matmul(exchange.get(b.node), factors_gradient(f, g_l, g_u));
  });
  return {p, l, u};
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                       bool adjoint) {
  check_real_square(LU, "torch.linalg.lu_solve", "lu_solve_cpu");
  check_same_dtype(LU, B, "linalg.lu_solve");
  DT_CHECK(pivots.dtype() == kDTypeOf<int32_t>, kRuntimeError,
           "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
  check_system(LU, B, left, "linalg.lu_solve");
  DT_CHECK(batch_of(LU, 1) == pivots.sizes(), kRuntimeError,
           "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
           "matrix");
  DT_CHECK(are_in_range(pivots, 1, INT32_MAX), kRuntimeError,
           "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the "
           "result of lu_factor?");
  DT_CHECK(are_in_range(pivots, 1, LU.size(-2)), kRuntimeError,
           "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly "
           "pass the result of lu_factor?");
  const Dims batch = broadcast_sizes(batch_of(LU), batch_of(B));
  const Tensor lu = broadcast_matrices(LU, batch), b = broadcast_matrices(B, batch);
  const Tensor exchanges = expand(pivots, sizes_of(batch, {LU.size(-1)}));
  Tensor x;
  {
    const GradMode no_grad(false);
    x = left ? solution(lu, exchanges, b, adjoint)
             : no_view(turned(solution(lu, exchanges, turned(b), !adjoint)));
  }
  const bool wants_factors = needs_graph(lu);
  if (!wants_factors && !needs_graph(b)) return x;
  record("LinalgLuSolveBackward0", x, {lu, b},
         [left, adjoint, lu = Saved::input(lu), pivots = Saved::input(exchanges),
          x = wants_factors ? Saved::output(x) : Saved()](BackwardCall& call) {
           const Tensor factors = lu.get(call.node), order = pivots.get(call.node);
           if (call.wants(1))
             call.results[1] = linalg_lu_solve(factors, order, call.grad(), left, !adjoint);
           if (call.wants(0)) {
             call.results[0] =
                 solution_gradient(call.grad(), factors, order, x.get(call.node), left, adjoint);
           }
         });
  return x;
}

Tensor lu_solve(const Tensor& input, const Tensor& LU_data, const Tensor& LU_pivots) {
  return linalg_lu_solve(LU_data, LU_pivots, input);
}

}  // namespace dt
