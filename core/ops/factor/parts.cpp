#include "core/ops/factor/parts.h"

#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/reduce.gen.h"

namespace dt {

Dims batch_of(const Tensor& x, int dims) {
  return Dims(IntList(x.sizes().data(), x.ndim() - dims));
}

Dims sizes_of(Dims batch, std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) batch.push_back(size);
  return batch;
}

bool are_vectors(const Tensor& A, const Tensor& B) {
  return B.ndim() == 1 || (A.ndim() - 1 == B.ndim() && B.sizes() == batch_of(A, 1));
}

namespace {

Dims joined_sizes(const Tensor& x, int dims) {
  Dims sizes = {count_elements(batch_of(x, dims))};
  for (int d = x.ndim() - dims; d < x.ndim(); ++d) sizes.push_back(x.sizes()[d]);
  return sizes;
}

}  // namespace

Tensor joined(const Tensor& x, int dims) {
  const GradMode no_grad(false);
  return reshape(x.detach(), joined_sizes(x, dims));
}

View joined_view(const Tensor& fresh, int dims) {
  const Dims sizes = joined_sizes(fresh, dims);
  int64_t elements = 1;
  for (int d = 1; d <= dims; ++d) elements *= sizes[d];
  Dims strides = {elements};
  for (int d = fresh.ndim() - dims; d < fresh.ndim(); ++d) strides.push_back(fresh.strides()[d]);
  return View(fresh, sizes, strides, fresh.offset());
}

Tensor empty_matrices(const Tensor& like, const Dims& batch, int64_t rows, int64_t columns) {
  const Dims sizes = sizes_of(batch, {rows, columns});
  Dims strides = contiguous_strides(sizes_of(batch, {columns, rows}));
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return make_empty_strided(sizes, strides, like.dtype(), like.device());
}

Tensor empty_codes(const Tensor& like, const Dims& sizes) {
  return make_empty(sizes, kDTypeOf<int32_t>, like.device());
}

Tensor identities(const Tensor& like, const Dims& batch, int64_t n) {
  return expand(eye(n, {}, like.dtype(), like.device()), sizes_of(batch, {n, n}));
}

Tensor turned(const Tensor& x) {
  return transpose(x, -2, -1);
}

Tensor no_view(const Tensor& x) {
  return unsafe_view(x, x.sizes());
}

Tensor by_columns(const Tensor& x) {
  return no_view(turned(contiguous(turned(x))));
}

Tensor broadcast_matrices(const Tensor& x, const Dims& batch) {
  const Dims sizes = sizes_of(batch, {x.size(-2), x.size(-1)});
  return sizes == x.sizes() ? x : expand(x, sizes);
}

Tensor or_zeros(const Tensor& g, const Tensor& like) {
  return g.defined() ? g : zeros_like(like);
}

// ---- checks

void check_real_dtype(const Tensor& x, const char* kernel) {
  DT_CHECK(is_floating(x.dtype()) && !is_narrow(x.dtype()), kNotImplemented, "\"", kernel,
           "\" not implemented for '", type_word(x.dtype()), "'");
}

void check_real(const Tensor& x, const char* function, const char* kernel) {
  check_matrices(x, function);
  DT_CHECK(is_floating(x.dtype()), kRuntimeError, function,
           ": Expected a floating point or complex tensor as input. Got ", type_word(x.dtype()));
  check_real_dtype(x, kernel);
}

void check_precision(const Tensor& x, const char* function) {
  DT_CHECK(!is_narrow(x.dtype()), kRuntimeError, function,
           ": Low precision dtypes not supported. Got ", type_word(x.dtype()));
}

void check_real_square(const Tensor& x, const char* function, const char* kernel) {
  check_square(x, function);
  check_real(x, function, kernel);
}

void check_same_dtype(const Tensor& a, const Tensor& b, const char* function) {
  DT_CHECK(a.dtype() == b.dtype(), kRuntimeError, function,
           ": Expected A and B to have the same dtype, but found A of type ", type_word(a.dtype()),
           " and B of type ", type_word(b.dtype()), " instead");
}

void check_system(const Tensor& a, const Tensor& b, bool left, const char* function) {
  check_square(a, function);
  DT_CHECK(b.ndim() >= 2, kRuntimeError, function,
           ": The input tensor B must have at least 2 dimensions.");
  const bool fits = left ? a.size(-2) == b.size(-2) : a.size(-1) == b.size(-1);
  DT_CHECK(fits, kRuntimeError, function, ": Incompatible shapes of A and B for the equation ",
           left ? "AX = B" : "XA = B", " (", a.size(-2), "x", a.size(-1), " and ", b.size(-2), "x",
           b.size(-1), ")");
}

namespace {

[[noreturn]] void fail_with(Failed what, const std::string& where, int64_t code) {
  constexpr Code kCode = Code::kLinAlg;
  switch (what) {
    case Failed::kInverse:
      fail(kCode, where, "The diagonal element ", code,
           " is zero, the inversion could not be completed because the input matrix is singular.");
    case Failed::kSolve:
      fail(kCode, where, "The solver failed because the input matrix is singular.");
    case Failed::kCholesky:
      fail(kCode, where,
           "The factorization could not be completed because the input is not positive-definite "
           "(the leading minor of order ",
           code, " is not positive-definite).");
    case Failed::kLu:
      fail(Code::kRuntimeError, where, "U[", code, ",", code,
           "] is zero and using it on lu_solve would result in a division by zero. If you still "
           "want to perform the factorization, consider calling linalg.lu(A, pivot) or "
           "linalg.lu_factor_ex(A, pivot)");
    case Failed::kLeastSquares:
      fail(kCode, where,
           "The least squares solution could not be computed because the input matrix does not "
           "have full rank (error code: ",
           code, ").");
    case Failed::kEigen:
    case Failed::kSingularValues:
      break;
  }
  DT_CHECK(
      code != -4, kLinAlg, where,
      "The algorithm failed to converge because the input matrix contained non-finite values.");
  fail(kCode, where,
       "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
       "many repeated ",
       what == Failed::kEigen ? "eigenvalues" : "singular values", " (error code: ", code, ").");
}

}  // namespace

void check_codes(const Tensor& info, Failed what, const char* function) {
  // Of many on a GPU it costs less to ask whether there is one than to bring them all.
  constexpr int64_t kMany = 2048;
  const GradMode no_grad(false);
  if (info.device() != kCpu && info.numel() > kMany && item(any(info)).to_int64() == 0) return;
  const Tensor codes = to(info, kCpu);
  const auto* all = codes.data_as<const int32_t>();
  for (int64_t i = 0, n = codes.numel(); i < n; ++i) {
    const int32_t code = all[i];
    if (code == 0) continue;
    const std::string batch = info.ndim() == 0 ? "" : text("(Batch element ", i, "): ");
    fail_with(what, text(function, ": ", batch), code);
  }
}

}  // namespace dt
