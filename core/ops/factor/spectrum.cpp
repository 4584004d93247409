// Symmetric eigenvalues and singular values.
#include <algorithm>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/factor/parts.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/factor.gen.h"

namespace dt {
namespace {

// Element (i, j): s_j - s_i, and `diagonal` where they are equal by their place.
Tensor differences(const Tensor& s, double diagonal) {
  const Tensor one = eye(s.size(-1), {}, s.dtype(), s.device());
  return add(sub(unsqueeze(s, -2), unsqueeze(s, -1)), mul(one, diagonal));
}

Tensor skew(const Tensor& x) {
  return sub(x, turned(x));
}

// gA = V (diag(gL) + skew(V^T gV) / 2E) V^T, with E_ij = l_j - l_i: what it takes of V^T gV is how
// V can turn, so that gA is symmetric. (Giles 2008.)
Tensor eigh_gradient(const Tensor& w, const Tensor& v, const Tensor& g_w, const Tensor& g_v) {
  Tensor inner;
  if (g_v.defined()) {
    inner = div(skew(matmul(turned(v), g_v)), mul(differences(w, 1), 2));
  }
  if (g_w.defined()) {
    const Tensor own = diag_embed(g_w);
    inner = inner.defined() ? add(inner, own) : own;
  }
  return matmul(v, matmul(inner, turned(v)));
}

struct Eigen {
  Tensor w, v;
};

Eigen eigen(const Tensor& A, const std::string& UPLO, bool wants_vectors) {
  check_square(A, "linalg.eigh");
  DT_CHECK(UPLO == "L" || UPLO == "U" || UPLO == "l" || UPLO == "u", kRuntimeError,
           "Expected UPLO argument to be 'L' or 'U', but got ", UPLO);
  check_real_dtype(A, "linalg_eigh_cpu");
  wants_vectors |= needs_graph(A);
  const bool is_upper = UPLO == "U" || UPLO == "u";
  const int64_t n = A.size(-1);
  const Tensor x = joined(is_upper ? turned(A) : A), info = empty_codes(A, batch_of(A));
  Eigen y = {make_empty(batch_of(A, 1), A.dtype(), A.device()), {}};
  if (wants_vectors) y.v = empty_matrices(A, batch_of(A), n, n);
  EighCall call;
  call.w = joined_view(y.w, 1);
  if (wants_vectors) call.v = joined_view(y.v, 2);
  call.info = joined_view(info, 0);
  call.a = x;
  run(op::eigh, call);
  check_codes(info, Failed::kEigen, "linalg.eigh");
  if (!needs_graph(A)) return y;
  record_all("LinalgEighBackward0", {y.w, y.v}, {A},
             [w = Saved::output(y.w), v = Saved::output(y.v, 1)](BackwardCall& b) {
               b.results[0] = eigh_gradient(w.get(b.node), v.get(b.node), b.grads[0], b.grads[1]);
             });
  return y;
}

// ---- singular values

// What a gradient of vectors says outside of the space that they span.
Tensor outside(const Tensor& g, const Tensor& vectors) {
  return sub(g, matmul(vectors, matmul(turned(vectors), g)));
}

// With E_ij = s_j^2 - s_i^2: gA = U ((skew(U^T gU) S + S skew(V^T gV)) / E + diag(gS)) V^T, and
// what gU and gV have outside of the spaces of U and V, divided by S. (Townsend, "Differentiating
// the singular value decomposition", 2016.)
Tensor svd_gradient(const Tensor& u, const Tensor& s, const Tensor& v, const Tensor& g_u,
                    const Tensor& g_s, const Tensor& g_v) {
  const Tensor row = unsqueeze(s, -2), column = unsqueeze(s, -1);
  Tensor inner = diag_embed(g_s.defined() ? g_s : zeros_like(s));
  const Tensor e = differences(mul(s, s), 1);
  if (g_u.defined()) inner = add(inner, div(mul(skew(matmul(turned(u), g_u)), row), e));
  if (g_v.defined()) inner = add(inner, div(mul(column, skew(matmul(turned(v), g_v))), e));
  Tensor g = matmul(matmul(u, inner), turned(v));
  if (g_u.defined() && u.size(-2) > s.size(-1))
    g = add(g, matmul(div(outside(g_u, u), row), turned(v)));
  if (g_v.defined() && v.size(-2) > s.size(-1))
    g = add(g, matmul(u, turned(div(outside(g_v, v), row))));
  return g;
}

// What of a gradient belongs to the first k vectors.
Tensor first_of(const Tensor& g, int dim, int64_t k) {
  return g.defined() && g.size(dim) > k ? narrow(g, dim, 0, k) : g;
}

struct Singular {
  Tensor u, s, vh;
};

// Whether the way through QR costs less. It is the CPU kernels' matter: they go through a matrix
// once for each of its columns.
bool is_tall(const Tensor& A) {
  constexpr int64_t kEnough = 512;  // elements that repay two more calls
  return A.device() == kCpu && A.size(-2) >= 2 * A.size(-1) && A.numel() >= kEnough;
}

// Of matrices with at least as many rows as columns, and at least one. A = Q R of a tall one has
// the singular values of R, whose left vectors Q turns into its own. (Chan, "An improved algorithm
// for computing the singular value decomposition", 1982.)
void run_svd(const Tensor& A, const Singular& y, const Tensor& info) {
  const bool wants_vectors = y.u.defined();
  const int64_t n = A.size(-1);
  if (is_tall(A) && (!wants_vectors || y.u.size(-1) == n)) {
    const auto [q, r] = linalg_qr(A, wants_vectors ? "reduced" : "r");
    const Tensor u = wants_vectors ? empty_matrices(A, batch_of(A), n, n) : Tensor();
    run_svd(r, {u, y.s, y.vh}, info);
    if (wants_vectors) copy_elements(y.u, matmul(q, u));
    return;
  }
  const Tensor x = joined(A);
  SvdCall call;
  if (wants_vectors) call.u = joined_view(y.u, 2);
  call.s = joined_view(y.s, 1);
  if (wants_vectors) call.vh = joined_view(y.vh, 2);
  call.info = joined_view(info, 0);
  call.a = x;
  run(op::svd, call);
}

Singular singular(const Tensor& A, bool full, bool wants_vectors) {
  check_real(A, "linalg.svd", "linalg_svd_cpu");
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const Dims batch = batch_of(A);
  Singular y = {{}, make_empty(sizes_of(batch, {k}), A.dtype(), A.device()), {}};
  if (wants_vectors) {
    y.u = empty_matrices(A, batch, m, full ? m : k);
    y.vh = empty_matrices(A, batch, full ? n : k, n);
    if (k == 0) {
      copy_elements(y.u, narrow(identities(A, batch, m), -1, 0, full ? m : 0));
      copy_elements(y.vh, narrow(identities(A, batch, n), -2, 0, full ? n : 0));
    }
  }
  if (k == 0) return y;
  const Tensor info = empty_codes(A, batch);
  const Singular other = {wants_vectors ? turned(y.vh) : y.vh, y.s,
                          wants_vectors ? turned(y.u) : y.u};
  run_svd(m >= n ? A : turned(A), m >= n ? y : other, info);
  check_codes(info, Failed::kSingularValues, "linalg.svd");
  return y;
}

Singular svd_parts(const Tensor& A, bool full, bool wants_vectors) {
  Singular y;
  {
    const GradMode no_grad(false);
    y = singular(A.detach(), full, wants_vectors || A.requires_grad());
  }
  if (!needs_graph(A)) return y;
  record_all("LinalgSvdBackward0", {y.u, y.s, y.vh}, {A},
             [u = Saved::output(y.u), s = Saved::output(y.s, 1),
              vh = Saved::output(y.vh, 2)](BackwardCall& b) {
               const Tensor own = s.get(b.node);
               const int64_t k = own.size(-1);
               const Tensor g_vh = first_of(b.grads[2], -2, k);
               b.results[0] = svd_gradient(
                   first_of(u.get(b.node), -1, k), own, turned(first_of(vh.get(b.node), -2, k)),
                   first_of(b.grads[0], -1, k), b.grads[1], g_vh.defined() ? turned(g_vh) : g_vh);
             });
  return y;
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& A, const std::string& UPLO) {
  const Eigen y = eigen(A, UPLO, true);
  return {y.w, y.v};
}

Tensor linalg_eigvalsh(const Tensor& A, const std::string& UPLO) {
  return eigen(A, UPLO, false).w;
}

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices,
                                              const std::optional<std::string>& driver) {
  DT_CHECK(!driver, kRuntimeError,
           "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
           "backend.");
  const Singular y = svd_parts(A, full_matrices, true);
  return {y.u, y.s, y.vh};
}

Tensor linalg_svdvals(const Tensor& A, const std::optional<std::string>& driver) {
  DT_CHECK(!driver, kRuntimeError,
           "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
           "backend.");
  return svd_parts(A, false, false).s;
}

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& input, bool some, bool compute_uv) {
  const Singular y = svd_parts(input, !some, compute_uv);
  if (compute_uv) return {y.u, y.s, turned(y.vh)};
  const auto none = [&](int64_t n) {
    return zeros(sizes_of(batch_of(input), {n, n}), input.dtype(), input.device());
  };
  return {none(input.size(-2)), y.s, turned(none(input.size(-1)))};
}

}  // namespace dt
