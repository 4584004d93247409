// QR by Householder reflectors, and the reflectors themselves.
#include <algorithm>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/factor/parts.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/shapes.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/factor.gen.h"

namespace dt {
namespace {

Tensor reflectors_product(const Tensor& v, const Tensor& tau, int64_t columns) {
  const Tensor vectors = joined(v), scales = joined(tau, 1);
  const Tensor q = empty_matrices(v, batch_of(v), v.size(-2), columns);
  HouseholderProductCall call;
  call.q = joined_view(q, 2);
  call.v = vectors;
  call.tau = scales;
  run(op::householder_product, call);
  return q;
}

// By the kernel, or one reflector after the other where a gradient is wanted.
Tensor product_of_reflectors(const Tensor& A, const Tensor& tau, int64_t columns) {
  if (!needs_graph(A) && !needs_graph(tau)) return reflectors_product(A, tau, columns);
  const Tensor below = tril(A, -1);
  const Tensor v = add(below, eye(A.size(-2), A.size(-1), A.dtype(), A.device()));
  // The identity; A is in its graph also where there is no reflector.
  Tensor q =
      add(sum(triu(below), {{-2, -1}}, true), eye(A.size(-2), columns, A.dtype(), A.device()));
  for (int64_t k = tau.size(-1) - 1; k >= 0; --k) {
    const Tensor own = narrow(v, -1, k, 1), scale = unsqueeze(narrow(tau, -1, k, 1), -1);
    q = sub(q, matmul(mul(own, scale), matmul(turned(own), q)));
  }
  return q;
}

// With M = R gR^T - gQ^T Q and its lower triangle mirrored: gA = (gQ + Q M) R^-T. Of a wide
// A = [X Y], with R = [U V], Y = Q V leads back to X = Q U. (Seeger et al., "Auto-differentiating
// linear algebra", 2017; Walter and Lehmann, "Algorithmic differentiation of linear algebra
// functions", 2010.)
Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& g_q, const Tensor& g_r) {
  const int64_t m = q.size(-2), n = r.size(-1);
  if (m < n) {
    const Tensor g_v = narrow(g_r, -1, m, n - m), v = narrow(r, -1, m, n - m);
    const Tensor all = add(g_q, matmul(matmul(q, v), turned(g_v)));
    const Tensor first = qr_gradient(q, narrow(r, -1, 0, m), all, narrow(g_r, -1, 0, m));
    return cat({first, matmul(q, g_v)}, -1);
  }
  const Tensor inner = sub(matmul(r, turned(g_r)), matmul(turned(g_q), q));
  const Tensor mirrored = add(tril(inner), turned(tril(inner, -1)));
  return linalg_solve_triangular(turned(r), add(g_q, matmul(q, mirrored)), false, false);
}

// Each matrix of reflectors has its own scales.
void check_scales(const Tensor& v, const Tensor& tau, const char* function) {
  DT_CHECK(tau.ndim() == v.ndim() - 1, kRuntimeError, function,
           ": Expected tau to have one dimension less than input, but got tau.ndim equal to ",
           tau.ndim(), " and input.ndim is equal to ", v.ndim());
  DT_CHECK(batch_of(tau, 1) == batch_of(v), kRuntimeError, function,
           ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
           batch_of(tau, 1));
}

void check_ormqr(const Tensor& v, const Tensor& tau, const Tensor& other, bool left) {
  constexpr const char* kName = "torch.ormqr";
  DT_CHECK(v.ndim() >= 2, kRuntimeError, kName, ": input must have at least 2 dimensions.");
  DT_CHECK(other.ndim() >= 2, kRuntimeError, kName, ": other must have at least 2 dimensions.");
  const int side = left ? -2 : -1;
  DT_CHECK(other.size(side) == v.size(-2), kRuntimeError, kName, ": other.shape[", side,
           "] must be equal to input.shape[-2]");
  DT_CHECK(tau.size(-1) == std::min(other.size(side), v.size(-1)), kRuntimeError, kName,
           ": tau.shape[-1] must be equal to min(other.shape[", side, "], input.shape[-1])");
  check_scales(v, tau, kName);
  DT_CHECK(other.ndim() == v.ndim(), kRuntimeError, kName,
           ": Expected other to have the same number of dimensions as input, but got other.ndim "
           "equal to ",
           other.ndim(), " and input.ndim is equal to ", v.ndim());
  DT_CHECK(batch_of(other) == batch_of(v), kRuntimeError, kName,
           ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ",
           batch_of(other));
  DT_CHECK(tau.dtype() == v.dtype(), kRuntimeError, kName,
           ": Expected input and tau to have the same dtype, but input has dtype",
           type_word(v.dtype()), " and tau has dtype ", type_word(tau.dtype()));
  DT_CHECK(other.dtype() == v.dtype(), kRuntimeError, kName,
           ": Expected input and other to have the same dtype, but input has dtype",
           type_word(v.dtype()), " and other has dtype ", type_word(other.dtype()));
  check_real_dtype(v, "ormqr_cpu");
}

}  // namespace

std::tuple<Tensor, Tensor> geqrf(const Tensor& input) {
  DT_CHECK(input.ndim() >= 2, kRuntimeError, "torch.geqrf: input must have at least 2 dimensions.");
  check_real_dtype(input, "geqrf_cpu");
  const int64_t m = input.size(-2), n = input.size(-1);
  const Dims batch = batch_of(input);
  const Tensor x = joined(input), factors = empty_matrices(input, batch, m, n);
  const Tensor tau = make_empty(sizes_of(batch, {std::min(m, n)}), input.dtype(), input.device());
  GeqrfCall call;
  call.factors = joined_view(factors, 2);
  call.tau = joined_view(tau, 1);
  call.a = x;
  run(op::geqrf, call);
  record_all("GeqrfBackward0", {factors, tau}, {input}, [](BackwardCall&) {
    fail(Code::kNotImplemented, "the derivative for 'geqrf' is not implemented.");
  });
  return {factors, tau};
}

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, const std::string& mode) {
  const bool is_complete = mode == "complete", is_r = mode == "r";
  DT_CHECK(is_complete || is_r || mode == "reduced", kRuntimeError,
           "qr received unrecognized mode '", mode,
           "' but expected one of 'reduced' (default), 'r', or 'complete'");
  check_real(A, "linalg.qr", "geqrf_cpu");
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n), columns = is_complete ? m : k;
  Tensor q = make_empty({0}, A.dtype(), A.device()), r;
  {
    const GradMode no_grad(false);
    const auto [factors, tau] = geqrf(A.detach());
    Tensor rows = triu(narrow(factors, -2, 0, k));
    if (columns > k)
      rows = cat({rows, zeros(sizes_of(batch_of(A), {m - k, n}), A.dtype(), A.device())}, -2);
    r = empty_matrices(A, batch_of(A), columns, n);
    copy_elements(r, rows);
    if (!is_r) q = reflectors_product(factors, tau, columns);
  }
  if (!needs_graph(A)) return {q, r};
  record_all("LinalgQrBackward0", {q, r}, {A},
             [is_r, columns, k, q = Saved::output(q), r = Saved::output(r, 1)](BackwardCall& b) {
               DT_CHECK(!is_r, kRuntimeError,
                        "The derivative of linalg.qr depends on Q, which is not computed when "
                        "mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to "
                        "differentiate through linalg.qr.");
               DT_CHECK(columns == k, kRuntimeError,
                        "The QR decomposition is not differentiable when mode='complete' and "
                        "nrows > ncols.");
               const Tensor own_q = q.get(b.node), own_r = r.get(b.node);
               b.results[0] = qr_gradient(own_q, own_r, or_zeros(b.grads[0], own_q),
                                          or_zeros(b.grads[1], own_r));
             });
  return {q, r};
}

Tensor linalg_householder_product(const Tensor& A, const Tensor& tau) {
  constexpr const char* kName = "torch.linalg.householder_product";
  DT_CHECK(A.ndim() >= 2, kRuntimeError, kName, ": input must have at least 2 dimensions.");
  const int64_t m = A.size(-2), n = A.size(-1);
  DT_CHECK(m >= n, kRuntimeError, kName,
           ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  DT_CHECK(tau.size(-1) <= n, kRuntimeError, kName,
           ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  check_scales(A, tau, kName);
  DT_CHECK(tau.dtype() == A.dtype(), kRuntimeError, kName, ": tau dtype ", type_word(tau.dtype()),
           " does not match input dtype ", type_word(A.dtype()));
  check_real_dtype(A, "orgqr_cpu");
  return product_of_reflectors(A, tau, n);
}

Tensor ormqr(const Tensor& input, const Tensor& input2, const Tensor& input3, bool left,
             bool transpose) {
  check_ormqr(input, input2, input3, left);
  const Tensor all = product_of_reflectors(input, input2, input.size(-2)),
               q = transpose ? turned(all) : all;
  return left ? matmul(q, input3) : matmul(input3, q);
}

}  // namespace dt
