// Linear systems and inverses.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/factor/parts.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/factor.gen.h"

namespace dt {
namespace {

// a @ x = b, of equal batches. (Giles 2008 for all gradients here.)
Tensor solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  const Tensor from = joined(a), right = joined(b);
  const Tensor x = empty_matrices(b, batch_of(b), b.size(-2), b.size(-1));
  TriangularSolveCall call;
  call.x = joined_view(x, 2);
  call.a = from;
  call.b = right;
  call.upper = upper;
  call.unit = unit;
  run(op::triangular_solve, call);
  if (!needs_graph(a) && !needs_graph(b)) return x;
  return record("LinalgSolveTriangularBackward0", x, {a, b},
                [upper, unit, a = Saved::input(a), x = Saved::output(x)](BackwardCall& call) {
                  const Tensor m = turned(a.get(call.node));
                  const Tensor g = linalg_solve_triangular(m, call.grad(), !upper, true, unit);
                  call.results[1] = g;
                  if (!call.wants(0)) return;
                  const Tensor whole = neg(matmul(g, turned(x.get(call.node))));
                  call.results[0] = upper ? triu(whole, unit) : tril(whole, -int64_t{unit});
                });
}

// B is a vector, or a batch of them.
bool are_vectors(const Tensor& A, const Tensor& B) {
  return B.ndim() == 1 || (A.ndim() - 1 == B.ndim() && B.sizes() == batch_of(A, 1));
}

// a @ x = b, of equal batches; gives the codes, too.
std::tuple<Tensor, Tensor> solve_square(const Tensor& a, const Tensor& b) {
  Tensor lu, pivots, info, x;
  {
    const GradMode no_grad(false);
    std::tie(lu, pivots, info) = linalg_lu_factor_ex(a.detach());
    x = linalg_lu_solve(lu, pivots, b.detach());
  }
  if (!needs_graph(a) && !needs_graph(b)) return {x, info};
  record("LinalgSolveExBackward0", x, {a, b},
         [a = Saved::input(a), x = Saved::output(x), lu, pivots](BackwardCall& call) {
           const Tensor& g = call.grad();
           const Tensor g_b = call.create_graph ? linalg_solve(turned(a.get(call.node)), g)
                                                : linalg_lu_solve(lu, pivots, g, true, true);
           call.results[1] = g_b;
           if (call.wants(0)) call.results[0] = neg(matmul(g_b, turned(x.get(call.node))));
         });
  return {x, info};
}

}  // namespace

Tensor linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left,
                               bool unitriangular) {
  check_system(A, B, left, "linalg.solve_triangular");
  check_real_dtype(A, "triangular_solve_cpu");
  check_same_dtype(A, B, "linalg.solve_triangular");
  if (!left) {
    return by_columns(
        turned(linalg_solve_triangular(turned(A), turned(B), !upper, true, unitriangular)));
  }
  const Dims batch = broadcast_sizes(batch_of(A), batch_of(B));
  return solve_triangle(broadcast_matrices(A, batch), broadcast_matrices(B, batch), upper,
                        unitriangular);
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& input, const Tensor& A, bool upper,
                                            bool transpose, bool unitriangular) {
  const Tensor x = linalg_solve_triangular(transpose ? turned(A) : A, input, upper != transpose,
                                           true, unitriangular);
  return {x, clone(broadcast_matrices(A, batch_of(x)))};
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                           bool check_errors) {
  constexpr const char* kName = "linalg.solve";
  check_real(A, kName, "lu_cpu");
  check_same_dtype(A, B, kName);
  const bool is_vector = are_vectors(A, B);
  const Tensor b = is_vector ? unsqueeze(B, -1) : B;
  check_system(A, b, left, kName);
  DT_CHECK(left || !is_vector, kRuntimeError,
           "linalg.solve: Vector broadcasting of the left hand side is not supported for "
           "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const Dims batch = broadcast_sizes(batch_of(b), batch_of(A));
  const Tensor all = broadcast_matrices(b, batch), a = broadcast_matrices(A, batch);
  const auto [x, info] = left ? solve_square(a, all) : solve_square(turned(a), turned(all));
  if (check_errors) check_codes(info, Failed::kSolve, "torch.linalg.solve");
  return {is_vector ? no_view(squeeze(x, {{-1}})) : left ? x : no_view(turned(x)), info};
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  return std::get<0>(linalg_solve_ex(A, B, left, true));
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  check_square(A, "linalg.inv");
  check_precision(A, "linalg.inv");
  check_real(A, "linalg.inv", "inv");
  const Tensor one = identities(A, batch_of(A), A.size(-1));
  const auto [x, info] = solve_square(A.detach(), one);
  if (check_errors) check_codes(info, Failed::kInverse, "linalg.inv");
  if (!needs_graph(A)) return {x, info};
  record("LinalgInvExBackward0", x, {A}, [x = Saved::output(x)](BackwardCall& call) {
    const Tensor t = turned(x.get(call.node));
    call.results[0] = neg(matmul(t, matmul(call.grad(), t)));
  });
  return {x, info};
}

Tensor linalg_inv(const Tensor& A) {
  return std::get<0>(linalg_inv_ex(A, true));
}

}  // namespace dt
