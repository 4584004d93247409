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
  return multiply({narrow(a, 1, 0, 0), false}, {narrow(b, 0, 0, 0), false}, &addend);
}

Tensor scaled(const Tensor& x, double factor) {
  return factor == 1 ? x : mul(x, factor);
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
  const Addend addend{input, alpha.to_double(), beta.to_double()};
  const Tensor y = addend.alpha == 0 ? multiply_nothing(mat1, mat2, addend)
                                     : multiply({mat1, false}, {mat2, false}, &addend);
  const bool wants_1 = needs_graph(mat1), wants_2 = needs_graph(mat2);
  if (!wants_1 && !wants_2) return needs_graph(input) ? record_addend(y, input, addend.beta) : y;
  return record(
      "AddmmBackward0", y, {input, mat1, mat2},
      [left = save_if(wants_2, mat1), right = save_if(wants_1, mat2), order_1 = order_of(mat1),
       order_2 = order_of(mat2), alpha = addend.alpha, beta = addend.beta](BackwardCall& call) {
        const Tensor& g = call.grad();
        if (call.wants(0)) call.results[0] = scaled(g, beta);
        if (call.wants(1))
          call.results[1] =
              scaled(mm_product({g, false}, {right.get(call.node), true}, order_1), alpha);
        if (call.wants(2))
          call.results[2] =
              scaled(mm_product({left.get(call.node), true}, {g, false}, order_2), alpha);
      });
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
