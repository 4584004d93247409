// Matrix products: what is a factor, and how batches become one.
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/linalg/multiply.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

// beta * addend in the product's shape. What is multiplied by 0 is not looked at: it may be NaN.
Tensor multiply_nothing(const Tensor& a, const Tensor& b, const Addend& addend) {
  const GradMode no_grad(false);
  return multiply({narrow(a, -1, 0, 0), false}, {narrow(b, -2, 0, 0), false}, &addend);
}

Tensor scaled(const Tensor& x, double factor) {
  return factor == 1 ? x : mul(x, factor);
}

// alpha * a @ b + beta * what is added, of matrices or batches.
Tensor add_product(const char* node_name, const Addend& addend, const Tensor& a, const Tensor& b) {
  const Tensor y = addend.alpha == 0 ? multiply_nothing(a, b, addend)
                                     : multiply({a, false}, {b, false}, &addend);
  const Tensor& input = addend.tensor;
  const bool wants_a = needs_graph(a), wants_b = needs_graph(b);
  if (!wants_a && !wants_b) return needs_graph(input) ? record_addend(y, input, addend.beta) : y;
  return record(node_name, y, {input, a, b},
                [left = save_if(wants_b, a), right = save_if(wants_a, b), order_a = order_of(a),
                 order_b = order_of(b), alpha = addend.alpha, beta = addend.beta,
                 name = a.ndim() == 2 ? "MmBackward0" : "BmmBackward0"](BackwardCall& call) {
                  const Tensor& g = call.grad();
                  if (call.wants(0)) call.results[0] = scaled(g, beta);
                  if (call.wants(1)) {
                    const Tensor b = right.get(call.node);
                    call.results[1] = scaled(product(name, {g, false}, {b, true}, order_a), alpha);
                  }
                  if (call.wants(2)) {
                    const Tensor a = left.get(call.node);
                    call.results[2] = scaled(product(name, {a, true}, {g, false}, order_b), alpha);
                  }
                });
}

// x with its leading dimensions broadcast to `batch` and joined into one.
Tensor as_batch(const Tensor& x, const Dims& batch) {
  const int64_t rows = x.sizes()[x.ndim() - 2], columns = x.sizes()[x.ndim() - 1];
  Dims sizes = batch;
  sizes.push_back(rows);
  sizes.push_back(columns);
  return reshape(expand(x, sizes), {count_elements(batch), rows, columns});
}

Tensor batched_matmul(const Tensor& a, const Tensor& b) {
  const IntList batch_a(a.sizes().data(), a.ndim() - 2), batch_b(b.sizes().data(), b.ndim() - 2);
  const Dims batch = broadcast_sizes(batch_a, batch_b);
  Dims sizes = batch;
  sizes.push_back(a.size(-2));
  sizes.push_back(b.size(-1));
  return unsafe_view(bmm(as_batch(a, batch), as_batch(b, batch)), sizes);
}

// A batch times one matrix is one tall matrix times it.
Tensor folded_matmul(const Tensor& a, const Tensor& b) {
  Dims sizes = a.sizes();
  sizes.erase(a.ndim() - 1);
  const Tensor tall = reshape(a, {count_rows(a), a.size(-1)});
  if (b.ndim() == 1) return unsafe_view(mv(tall, b), sizes);
  sizes.push_back(b.size(1));
  return unsafe_view(mm(tall, b), sizes);
}

}  // namespace

Tensor mm(const Tensor& input, const Tensor& mat2) {
  check_mm(input, mat2);
  return mm_product({input, false}, {mat2, false});
}

Tensor bmm(const Tensor& input, const Tensor& mat2) {
  check_bmm(input, mat2);
  return product("BmmBackward0", {input, false}, {mat2, false});
}

Tensor mv(const Tensor& input, const Tensor& vec) {
  check_mv(input, vec);
  const Tensor column = reshape(vec, {vec.numel(), 1});
  return unsafe_view(mm_product({input, false}, {column, false}), {input.sizes()[0]});
}

Tensor dot(const Tensor& input, const Tensor& tensor) {
  check_dot(input, tensor);
  const int64_t n = input.numel();
  const Tensor row = reshape(input, {1, n}), column = reshape(tensor, {n, 1});
  return unsafe_view(mm_product({row, false}, {column, false}), {});
}

Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  check_addmm(input, mat1, mat2);
  return add_product("AddmmBackward0", {input, alpha.to_double(), beta.to_double()}, mat1, mat2);
}

Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  check_baddbmm(input, batch1, batch2);
  return add_product("BaddbmmBackward0", {input, alpha.to_double(), beta.to_double()}, batch1,
                     batch2);
}

// The batch is one more dimension to sum over.
Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  check_addbmm(input, batch1, batch2);
  const int64_t terms = batch1.size(0) * batch1.size(2);
  const Tensor wide = reshape(permute(batch1, {1, 0, 2}), {batch1.size(1), terms});
  return addmm(input, wide, reshape(batch2, {terms, batch2.size(2)}), beta, alpha);
}

Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  check_addmv(input, mat, vec);
  const Tensor column = reshape(vec, {vec.numel(), 1});
  const Tensor addend = input.ndim() == 0 ? input : unsqueeze(input, 1);
  return unsafe_view(addmm(addend, mat, column, beta, alpha), {mat.sizes()[0]});
}

Tensor matmul(const Tensor& input, const Tensor& other) {
  check_matmul(input, other);
  const int a = input.ndim(), b = other.ndim();
  if (a == 2 && b == 2) return mm(input, other);
  if (a == 1 && b == 1) return dot(input, other);
  if (a == 2 && b == 1) return mv(input, other);
  // Folded, or the vector's gradient would be made for each matrix before it is summed.
  if (a == 1 && b > 2 && needs_graph(input)) return folded_matmul(transpose(other, -2, -1), input);
  if (a == 1) {
    const Tensor y = matmul(unsqueeze(input, 0), other);
    Dims sizes = y.sizes();
    sizes.erase(y.ndim() - 2);
    return unsafe_view(y, sizes);
  }
  if (a > 2 && b <= 2) return folded_matmul(input, other);
  return batched_matmul(input, other);
}

}  // namespace dt
