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

// x of a @ x = b (`left`) or x @ a = b, of equal batches, outside of the graph.
Tensor solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  if (!left) return by_columns(turned(solve_triangle(turned(a), turned(b), !upper, true, unit)));
  const Tensor from = joined(a), right = joined(b);
  const Tensor x = empty_matrices(b, batch_of(b), b.size(-2), b.size(-1));
  TriangularSolveCall call;
  call.x = joined_view(x, 2);
  call.a = from;
  call.b = right;
  call.upper = upper;
  call.unit = unit;
  run(op::triangular_solve, call);
  return x;
}

// By a; g_b is that by b. (Giles 2008, as all gradients here.)
Tensor matrix_gradient(const Tensor& x, const Tensor& g_b, bool left) {
  return neg(left ? matmul(g_b, turned(x)) : matmul(turned(x), g_b));
}

// The factors of a square matrix or, for systems from the right, of its transpose.
struct Factored {
  Tensor lu, pivots, info;
  bool left;

  Factored(const Tensor& a, bool left) : left(left) {
    std::tie(lu, pivots, info) = linalg_lu_factor_ex(left ? a : turned(a));
  }
  // x of a @ x = b or x @ a = b; or with a's transpose for a.
  Tensor solve(const Tensor& b, bool transposed = false) const {
    const Tensor x = linalg_lu_solve(lu, pivots, left ? b : turned(b), true, transposed);
    return left ? x : no_view(turned(x));
  }
};

}  // namespace

Tensor linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left,
                               bool unitriangular) {
  check_system(A, B, left, "linalg.solve_triangular");
  check_real_dtype(A, "triangular_solve_cpu");
  check_same_dtype(A, B, "linalg.solve_triangular");
  const Dims batch = broadcast_sizes(batch_of(A), batch_of(B));
  const Tensor x =
      solve_triangle(broadcast_matrices(A.detach(), batch), broadcast_matrices(B.detach(), batch),
                     upper, left, unitriangular);
  if (!needs_graph(A) && !needs_graph(B)) return x;
  return record("LinalgSolveTriangularBackward0", x, {A, B},
                [=, a = Saved::input(A), x = Saved::output(x)](BackwardCall& call) {
                  const Tensor g_b = linalg_solve_triangular(turned(a.get(call.node)), call.grad(),
                                                             !upper, left, unitriangular);
                  call.results[1] = g_b;
                  if (!call.wants(0)) return;
                  const Tensor whole = matrix_gradient(x.get(call.node), g_b, left);
                  call.results[0] =
                      upper ? triu(whole, unitriangular) : tril(whole, -int64_t{unitriangular});
                });
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
  const Factored factored(broadcast_matrices(A.detach(), batch), left);
  const Tensor all = factored.solve(broadcast_matrices(b.detach(), batch));
  if (check_errors) check_codes(factored.info, Failed::kSolve, "torch.linalg.solve");
  const Tensor x = is_vector ? no_view(squeeze(all, {{-1}})) : all;
  if (!needs_graph(A) && !needs_graph(B)) return {x, factored.info};
  record("LinalgSolveExBackward0", x, {A, B},
         [=, a = Saved::input(A), x = Saved::output(x)](BackwardCall& call) {
           const auto matrices = [&](const Tensor& t) { return is_vector ? unsqueeze(t, -1) : t; };
           const Tensor g = matrices(call.grad());
           const Tensor g_b = call.create_graph ? linalg_solve(turned(a.get(call.node)), g, left)
                                                : factored.solve(g, true);
           call.results[1] = is_vector ? squeeze(g_b, {{-1}}) : g_b;
           if (!call.wants(0)) return;
           call.results[0] = matrix_gradient(matrices(x.get(call.node)), g_b, left);
         });
  return {x, factored.info};
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  return std::get<0>(linalg_solve_ex(A, B, left, true));
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  check_square(A, "linalg.inv");
  check_precision(A, "linalg.inv");
  check_real(A, "linalg.inv", "inv");
  const Tensor one = identities(A, batch_of(A), A.size(-1));
  const Factored factored(A.detach(), true);
  const Tensor x = factored.solve(one);
  if (check_errors) check_codes(factored.info, Failed::kInverse, "linalg.inv");
  if (!needs_graph(A)) return {x, factored.info};
  record("LinalgInvExBackward0", x, {A}, [x = Saved::output(x)](BackwardCall& call) {
    const Tensor t = turned(x.get(call.node));
    call.results[0] = neg(matmul(t, matmul(call.grad(), t)));
  });
  return {x, factored.info};
}

Tensor linalg_inv(const Tensor& A) {
  return std::get<0>(linalg_inv_ex(A, true));
}

}  // namespace dt
