// What singular values decide: pinv, matrix_rank, lstsq, cond.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "core/autograd/record.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/factor.gen.h"
#include "core/ops/factor/parts.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

using Tolerance = std::optional<Operand>;

// A number, or one for each matrix, beside their singular values.
Operand beside(const Operand& x) {
  return x.is_number() ? x : Operand(unsqueeze(x.tensor(), -1));
}

double epsilon_of(const Tensor& A) {
  return A.dtype() == kDTypeOf<double> ? std::numeric_limits<double>::epsilon()
                                       : std::numeric_limits<float>::epsilon();
}

double default_tolerance(const Tensor& A) {
  return epsilon_of(A) * static_cast<double>(std::max(A.size(-2), A.size(-1)));
}

// Which of the values s, none negative, count as 0 in A: those up to max(atol, rtol * the largest).
Tensor are_counted(const Tensor& A, const Tensor& s, const Tolerance& atol, const Tolerance& rtol) {
  const bool is_absolute = atol && !(atol->is_number() && atol->number().to_double() == 0) && !rtol;
  const Operand relative = rtol ? beside(*rtol) : Operand(is_absolute ? 0 : default_tolerance(A));
  const Tensor bound = mul(amax(s, {{-1}}, true), relative);
  return gt(s, !atol ? bound : clamp(bound, beside(*atol)));
}

// (Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
// whose variables separate", 1973.)
Tensor pinv_gradient(const Tensor& a, const Tensor& p, const Tensor& g) {
  if (a.size(-2) > a.size(-1)) return turned(pinv_gradient(turned(a), turned(p), turned(g)));
  const Tensor h = turned(g), q = turned(p), k = matmul(h, p), kq = matmul(k, q);
  const Tensor inside = sub(sub(kq, turned(matmul(p, k))), matmul(matmul(a, p), kq));
  return add(inside, matmul(matmul(q, p), sub(h, matmul(k, a))));
}

Tensor pseudo_inverse(const Tensor& A, const Tolerance& atol, const Tolerance& rtol,
                      bool hermitian) {
  if (A.numel() == 0) {
    const auto nothing = [&](int64_t rows, int64_t columns) {
      return make_empty(sizes_of(batch_of(A), {rows, columns}), A.dtype(), A.device());
    };
    return autocast::matmul(nothing(A.size(-1), 0), nothing(0, A.size(-2)));
  }
  if (hermitian) {
    const auto [w, v] = linalg_eigh(A);
    const Tensor counted = are_counted(A, abs(w), atol, rtol);
    const Tensor inverse = where(counted, reciprocal(w), 0);
    return autocast::matmul(mul(v, unsqueeze(inverse, -2)), turned(v));
  }
  const auto [u, s, vh] = linalg_svd(A, false);
  const Tensor inverse = where(are_counted(A, s, atol, rtol), reciprocal(s), 0);
  return autocast::matmul(mul(turned(vh), unsqueeze(inverse, -2)), turned(u));
}

}  // namespace

Tensor linalg_pinv(const Tensor& A, const Tolerance& atol, const Tolerance& rtol, bool hermitian) {
  DT_CHECK(A.ndim() >= 2 && is_floating(A.dtype()) && !is_narrow(A.dtype()), kRuntimeError,
           "linalg.pinv(", type_word(A.dtype()), "{", A.sizes(),
           "}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble "
           "types");
  for (const auto& [tolerance, name] : {std::pair(&atol, "atol"), std::pair(&rtol, "rtol")}) {
    const bool is_tensor = *tolerance && !(*tolerance)->is_number();
    if (is_tensor) check_constant((*tolerance)->tensor(), "linalg_pinv", name);
  }
  Tensor y;
  {
    const GradMode no_grad(false);
    y = pseudo_inverse(A.detach(), atol, rtol, hermitian);
  }
  if (!needs_graph(A)) return y;
  return record("LinalgPinvBackward0", y, {A},
                [a = Saved::input(A), y = Saved::output(y)](BackwardCall& b) {
                  b.results[0] = pinv_gradient(a.get(b.node), y.get(b.node), b.grad());
                });
}

Tensor linalg_matrix_rank(const Tensor& A, const Tolerance& atol, const Tolerance& rtol,
                          bool hermitian) {
  DT_CHECK(A.ndim() >= 2, kRuntimeError,
           "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.");
  DT_CHECK(rtol || (is_floating(A.dtype()) && !is_narrow(A.dtype())), kRuntimeError,
           "This function doesn't handle types other than float and double");
  const GradMode no_grad(false);
  if (A.numel() == 0) return zeros(batch_of(A), kIndexDType, A.device());
  const Tensor s = hermitian ? abs(linalg_eigvalsh(A)) : linalg_svdvals(A);
  return sum(are_counted(A, s, atol, rtol), {{-1}});
}

// ---- least squares

namespace {

bool is_driver(const std::string& name) {
  return name == "gels" || name == "gelsy" || name == "gelsd" || name == "gelss";
}

// Whether B is vectors, of matrices A.
bool check_lstsq(const Tensor& A, const Tensor& B, const std::string& driver) {
  DT_CHECK(A.ndim() >= 2, kRuntimeError,
           "torch.linalg.lstsq: input must have at least 2 dimensions.");
  DT_CHECK(B.ndim() >= 1, kRuntimeError,
           "torch.linalg.lstsq: other must have at least 1 dimension.");
  check_real(A, "torch.linalg.lstsq", "linalg_lstsq_cpu");
  DT_CHECK(A.dtype() == B.dtype(), kRuntimeError,
           "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
           "dtype ",
           type_word(A.dtype()), " and other's dtype ", type_word(B.dtype()));
  const int missing = A.ndim() - B.ndim();
  DT_CHECK(missing == 0 || missing == 1, kRuntimeError,
           "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
           "(input.dim() - other.dim()) <= 1");
  const bool is_vector = are_vectors(A, B);
  DT_CHECK(A.size(-2) == B.size(is_vector ? -1 : -2), kRuntimeError,
           "torch.linalg.lstsq: input.size(-2) should match other.size(", is_vector ? -1 : -2, ")");
  DT_CHECK(is_driver(driver), kRuntimeError,
           "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  return is_vector;
}

// The solutions in columns that have room for a right-hand side, too: where LAPACK leaves them.
Tensor in_long_columns(const Tensor& x, int64_t rows) {
  Dims sizes = x.sizes();
  const int last = x.ndim() - 1;
  sizes[last] = std::max(rows, x.size(-2)), sizes[last - 1] = x.size(-1);
  Dims strides = contiguous_strides(sizes);
  std::swap(strides[last], strides[last - 1]);
  return copy_(make_empty_strided(x.sizes(), strides, x.dtype(), x.device()), x);
}

// X = P B, with P the pseudo-inverse.
Tensor record_lstsq(const Tensor& x, const Tensor& A, const Tensor& B) {
  if (!needs_graph(A) && !needs_graph(B)) return x;
  return record("LinalgLstsqBackward0", x, {A, B},
                [a = Saved::input(A), b = Saved::input(B)](BackwardCall& call) {
                  const Tensor own = a.get(call.node), p = linalg_pinv(own);
                  const Tensor g = call.grad();
                  if (call.wants(0))
                    call.results[0] = pinv_gradient(own, p, matmul(g, turned(b.get(call.node))));
                  if (call.wants(1)) call.results[1] = matmul(turned(p), g);
                });
}

// What LAPACK makes of a tolerance: machine precision where it is not 0 or more, or, by gelsd, not
// below 1. By gelsy the largest always counts.
double tolerance_of(const Tensor& A, std::optional<double> rcond, const std::string& driver) {
  if (!rcond) return default_tolerance(A);
  if (driver == "gelsy" && !(*rcond < 1)) return 1 - epsilon_of(A);
  const bool is_senseless = !(*rcond >= 0) || (driver == "gelsd" && *rcond >= 1);
  return is_senseless ? epsilon_of(A) : *rcond;
}

// Of a matrix with at least as many rows as columns, A = Q R: R X = Q^T B is what to solve, and
// what B becomes when it stands beside A in the factorisation. Of a wide one, A^T = Q R: X = Q Y
// with R^T Y = B.
struct Triangle {
  Tensor r, target, q;  // q: of a wide matrix

  Triangle(const Tensor& A, const Tensor& B) {
    const int64_t n = A.size(-1);
    if (A.size(-2) < n) {
      std::tie(q, r) = linalg_qr(turned(A));
      target = B;
      return;
    }
    const Tensor both = narrow(std::get<1>(linalg_qr(cat({A, B}, -1), "r")), -2, 0, n);
    r = narrow(both, -1, 0, n);
    target = narrow(both, -1, n, B.size(-1));
  }

  // Whether it is certain that no singular value is below `tolerance` of the largest. The square
  // root of the sum of the squares of all is no less than the largest, of R and of its inverse, and
  // roots of higher powers come nearer.
  bool has_full_rank(double tolerance) const {
    const Tensor one = expand(eye(r.size(-1), {}, r.dtype(), r.device()), r.sizes());
    Tensor x = r, y = linalg_solve_triangular(r, one, true);
    for (double power = 1;; power *= 2) {
      const auto size = [](const Tensor& of) { return norm(of, 2, {{-2, -1}}); };
      const Tensor ratio = pow(mul(size(x), size(y)), 1 / power);
      if (item(all(lt(mul(ratio, tolerance), 1))).to_bool()) return true;
      if (power == 4) return false;
      x = matmul(turned(x), x), y = matmul(turned(y), y);
    }
  }

  Tensor solve() const {
    if (!q.defined()) return linalg_solve_triangular(r, target, true);
    return matmul(q, linalg_solve_triangular(turned(r), target, false));
  }

  // LAPACK's codes of gels: the place of the first pivot that is 0, from 1; of a matrix of zeros,
  // whose solution is 0, none.
  Tensor codes() const {
    const Tensor is_zero = eq(diagonal(r, 0, -2, -1), 0);
    const Tensor counts = logical_and(any(is_zero, {{-1}}), any(ne(r, 0), {{-2, -1}}));
    return to_dtype(mul(add(argmax(to_dtype(is_zero, kDTypeOf<int32_t>), -1), 1), counts),
                    kDTypeOf<int32_t>);
  }
};

struct LeastSquares {
  Tensor x, rank, s;  // s: where it was needed
};

// By QR on the CPU where all matrices are certain to have full rank: a GPU would have to wait for
// the answer. Else by singular values, whatever the driver. There may be fewer matrices than right
// sides: ranks and singular values are the matrices'.
LeastSquares least_squares(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                           const std::string& driver) {
  const bool is_gels = driver == "gels";
  const double tolerance = is_gels ? 0 : tolerance_of(a, rcond, driver);
  if (a.device() == kCpu && a.numel() > 0 && (is_gels || driver == "gelsy")) {
    const Triangle triangle(broadcast_matrices(a, batch_of(b)), b);
    if (triangle.has_full_rank(tolerance))
      return {triangle.solve(), full(batch_of(a), triangle.r.size(-1), kIndexDType), {}};
    if (is_gels) check_codes(triangle.codes(), Failed::kLeastSquares, "torch.linalg.lstsq");
  }
  const auto [u, s, vh] = linalg_svd(a, false);
  const Tensor counted = s.numel() == 0 ? zeros(s.sizes(), kMaskDType, a.device())
                         : is_gels      ? gt(s, 0)
                                        : are_counted(a, s, {}, tolerance);
  const Tensor inverse = where(counted, reciprocal(s), 0);
  return {matmul(mul(turned(vh), unsqueeze(inverse, -2)), matmul(turned(u), b)),
          sum(counted, {{-1}}), s};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& A, const Tensor& B,
                                                        std::optional<double> rcond,
                                                        const std::optional<std::string>& driver) {
  const std::string name = driver.value_or("gelsy");
  const bool is_vector = check_lstsq(A, B, name);
  const Dims batch = broadcast_sizes(batch_of(A), batch_of(B, is_vector ? 1 : 2));
  const Tensor a = broadcast_matrices(A, batch);
  const Tensor b = broadcast_matrices(is_vector ? unsqueeze(B, -1) : B, batch);
  const int64_t m = A.size(-2), n = A.size(-1);
  LeastSquares y;
  {
    const GradMode no_grad(false);
    y = least_squares(A.detach(), b.detach(), rcond, name);
    y.x = in_long_columns(y.x, m);
  }
  record_lstsq(y.x, a, b);
  Tensor residuals = record("LinalgLstsqBackward0", make_empty({0}, A.dtype(), A.device()), {a, b},
                            [](BackwardCall&) {});
  if (m > n && driver && name != "gelsy" && item(all(eq(y.rank, n))).to_bool()) {
    const Tensor rest = sub(matmul(a, y.x), b);
    residuals = sum(mul(rest, rest), {{-2}});
  }
  const bool has_values = name == "gelsd" || name == "gelss";
  return {is_vector ? no_view(squeeze(y.x, {{-1}})) : y.x, residuals,
          name != "gels" ? y.rank : make_empty({0}, kIndexDType, A.device()),
          has_values ? y.s : make_empty({0}, A.dtype(), A.device())};
}

// ---- condition numbers

namespace {

// The shape that an inverse needs.
void check_inverted(const Tensor& A, const std::string& order) {
  const std::string name = "linalg.cond(ord=" + order + ")";
  DT_CHECK(A.ndim() >= 2, kRuntimeError, name,
           ": The input tensor A must have at least 2 dimensions.");
  check_square(A, name.c_str());
}

// norm(A) * norm(inv(A)); infinity where there is no inverse, as of a matrix of NaN.
template <class Norm>
Tensor cond_by_inverse(const Tensor& A, Norm norm) {
  const auto [inverse, info] = linalg_inv_ex(A);
  const Tensor product = mul(norm(A), norm(inverse));
  const Tensor is_lost = logical_or(gt(info, 0), isnan(product));
  return masked_fill(product, is_lost, std::numeric_limits<double>::infinity());
}

}  // namespace

Tensor linalg_cond_named(const Tensor& A, const std::string& p) {
  DT_CHECK(p == "fro" || p == "nuc", kRuntimeError, "linalg.cond got an invalid norm type: ", p);
  check_inverted(A, p);
  if (A.numel() == 0) return zeros(batch_of(A), A.dtype(), A.device());
  if (p == "fro") return cond_by_inverse(A, [](const Tensor& x) { return linalg_matrix_norm(x); });
  const Tensor s = linalg_svdvals(A);
  return mul(sum(s, {{-1}}), sum(reciprocal(s), {{-1}}));
}

Tensor linalg_cond(const Tensor& A, const std::optional<Scalar>& p) {
  DT_CHECK(A.ndim() >= 2, kRuntimeError,
           "linalg.cond: The input tensor must have at least 2 dimensions.");
  const double order = p ? p->to_double() : 2;
  const bool is_spectral = std::abs(order) == 2;
  DT_CHECK(is_spectral || std::abs(order) == 1 || std::isinf(order), kRuntimeError,
           "linalg.cond got an invalid norm type: ", order);
  if (A.numel() == 0) return zeros(batch_of(A), A.dtype(), A.device());
  if (!is_spectral) check_inverted(A, text(order));
  if (is_spectral) {
    const Tensor s = linalg_svdvals(A);
    const Tensor largest = narrow(s, -1, 0, 1), smallest = narrow(s, -1, s.size(-1) - 1, 1);
    return squeeze(order > 0 ? div(largest, smallest) : div(smallest, largest), {{-1}});
  }
  return cond_by_inverse(A, [&](const Tensor& x) { return linalg_matrix_norm(x, p); });
}

}  // namespace dt
