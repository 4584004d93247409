// Products of vectors, and sums of elements of one matrix.
#include "core/autograd/record.h"
#include "core/ops/autocast.gen.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/promotion.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/transfer.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// y as it would lie in memory if the addend, whose factor is 0, were added.
Tensor in_order_of(const Tensor& addend, const Tensor& y) {
  const Dims strides = elementwise_strides(y.sizes(), {addend, y});
  if (same_walk(y.sizes(), strides, y.strides())) return y;
  const Tensor moved = make_empty_strided(y.sizes(), strides, y.dtype(), y.device());
  copy_elements(moved, y);
  return moved;
}

}  // namespace

Tensor outer(const Tensor& input, const Tensor& vec2) {
  check_vector(input, "outer", "self");
  check_vector(vec2, "outer", "vec2");
  return mul(unsqueeze(input, 1), vec2);
}

Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  check_vector(vec1, "addr", "vec1");
  check_vector(vec2, "addr", "vec2");
  const DType dtype = result_type({input, vec1, vec2});
  check_addr_factor(beta, "beta", dtype);
  check_addr_factor(alpha, "alpha", dtype);
  const Tensor addend = expand(input, {vec1.numel(), vec2.numel()});
  const bool adds = beta.to_double() != 0;
  if (is_bool(dtype)) {
    const Tensor product = outer(vec1, vec2);
    const Tensor y = alpha.to_bool() ? product : zeros_like(product);
    return adds ? logical_or(addend, y) : in_order_of(addend, y);
  }
  const Tensor left = to_dtype(vec1, dtype);
  const Tensor y = to_dtype(outer(alpha.to_double() == 1 ? left : mul(left, alpha), vec2), dtype);
  const Tensor total = adds ? add(mul(to_dtype(addend.detach(), dtype), beta), y.detach())
                            : in_order_of(addend, y.detach());
  return record("AddrBackward0", total, {addend, y}, [beta](BackwardCall& b) {
    if (b.wants(0)) b.results[0] = beta.to_double() == 1 ? b.grad() : mul(b.grad(), beta);
    if (b.wants(1)) b.results[1] = b.grad();
  });
}

Tensor inner(const Tensor& input, const Tensor& other) {
  if (input.ndim() == 0 || other.ndim() == 0) return mul(input, other);
  check_inner(input, other);
  if (input.ndim() > 1 || other.ndim() > 1) return tensordot_dims(input, other, {-1}, {-1});
  // What meets one element is summed by itself, as in tensordot: of a sum nothing is kept.
  return autocast::dot(other.numel() == 1 ? sum(input, {{0}}, true, input.dtype()) : input, other);
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_vecdot(x, y);
  return x.ndim() == 1 && y.ndim() == 1 ? dot(x, y) : sum(mul(x, y), {{dim}});
}

Tensor trace(const Tensor& input) {
  check_trace(input);
  return sum(diagonal(input));
}

// ---- the cross product

Tensor linalg_cross(const Tensor& input, const Tensor& other, int64_t dim) {
  check_cross(input, other, dim);
  const std::vector<Tensor> a = unbind(input, dim), b = unbind(other, dim);
  std::vector<Tensor> parts;
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    parts.push_back(addcmul(mul(a[i], b[j]), a[j], b[i], -1));
  }
  return row_major(stack(parts, wrap_dim(dim, input.ndim())));  // stack keeps the order of images
}

Tensor cross(const Tensor& input, const Tensor& other, std::optional<int64_t> dim) {
  if (dim) return linalg_cross(input, other, *dim);
  for (int d = 0; d < input.ndim(); ++d) {
    if (input.sizes()[d] == 3) return linalg_cross(input, other, d);
  }
  fail(Code::kRuntimeError, "no dimension of size 3 in input");
}

// ---- the Kronecker product

Tensor kron(const Tensor& input, const Tensor& other) {
  const int n = std::max(input.ndim(), other.ndim());
  Dims sizes_a, sizes_b, sizes;  // of each dimension two: input's, and inside of it other's
  for (int d = 0; d < n; ++d) {
    const int i = d - (n - input.ndim()), j = d - (n - other.ndim());
    const int64_t size_a = i < 0 ? 1 : input.sizes()[i], size_b = j < 0 ? 1 : other.sizes()[j];
    sizes_a.push_back(size_a);
    sizes_a.push_back(1);
    sizes_b.push_back(1);
    sizes_b.push_back(size_b);
    sizes.push_back(size_a * size_b);
  }
  return unsafe_view(mul(reshape(input, sizes_a), reshape(other, sizes_b)), sizes);
}

}  // namespace dt
