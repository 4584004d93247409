// All products are one kernel call: transposes and broadcasts are strides, and what is added is the
// kernel's third operand.
#include "core/ops/linalg/multiply.h"

#include "core/ops/bilinear.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/linalg/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/linalg.gen.h"

namespace dt {

View Factor::view() const {
  const int r = tensor.ndim() - (transposed ? 1 : 2), c = tensor.ndim() - (transposed ? 2 : 1);
  const bool batched = tensor.ndim() == 3;
  const int64_t sizes[] = {batched ? tensor.sizes()[0] : 1, tensor.sizes()[r], tensor.sizes()[c]};
  const int64_t strides[] = {batched ? tensor.strides()[0] : 0, tensor.strides()[r],
                             tensor.strides()[c]};
  return View(tensor, {sizes, 3}, {strides, 3}, tensor.offset());
}

namespace {

// c broadcast to the product, as the kernel sees it.
View addend_view(const Tensor& c, const Dims& product) {
  const Dims strides = broadcast_strides(c.sizes(), c.strides(), product);
  const bool batched = product.size() == 3;
  const int64_t sizes_3[] = {batched ? product[0] : 1, product[product.size() - 2], product.back()};
  const int64_t strides_3[] = {batched ? strides[0] : 0, strides[product.size() - 2],
                               strides.back()};
  return View(c, {sizes_3, 3}, {strides_3, 3}, c.offset());
}

}  // namespace

Tensor multiply(Factor a, Factor b, const Addend* addend, Activation activation) {
  const Tensor& x = a.tensor;
  Dims sizes;
  if (x.ndim() == 3) sizes.push_back(x.sizes()[0]);
  sizes.push_back(a.rows());
  sizes.push_back(b.columns());
  if (addend) check_addend_shape(addend->tensor, sizes);
  const Tensor y = make_empty(sizes, x.dtype(), x.device());
  if (is_bool(x.dtype())) {
    check_bool_product(y, a.columns(), addend);
    return zero_(y);
  }
  MatmulCall call;
  call.y = Factor{y, false}.view();
  call.a = a.view();
  call.b = b.view();
  call.activation = activation;
  call.alpha = addend ? addend->alpha : 1;
  if (addend) {
    call.c = addend_view(addend->tensor, sizes);
    call.beta = addend->beta;
  }
  run(op::matmul, call);
  return y;
}

Order order_of(const Tensor& x) {
  const bool columns =
      x.ndim() == 2 && x.strides()[0] == 1 && x.strides()[1] == x.sizes()[0] && !x.is_contiguous();
  return columns ? Order::kColumns : Order::kRows;
}

namespace {

// a @ b in either order, without a record.
Tensor multiply_in_order(Factor a, Factor b, Order order) {
  if (order == Order::kRows) return multiply(a, b);
  const Tensor t = multiply({b.tensor, !b.transposed}, {a.tensor, !a.transposed});
  return make_alias(t, {t.size(1), t.size(0)}, {1, t.size(1)}, 0);
}

// With y = a @ b: the gradient of a is g @ b^T, and of b a^T @ g. For a transposed factor it is the
// transpose of that.
Tensor gradient_of_left(const char* node_name, const Tensor& g, bool transposed, Factor b,
                        Order order) {
  return transposed ? product(node_name, b, {g, true}, order)
                    : product(node_name, {g, false}, {b.tensor, !b.transposed}, order);
}
Tensor gradient_of_right(const char* node_name, const Tensor& g, Factor a, bool transposed,
                         Order order) {
  return transposed ? product(node_name, {g, true}, a, order)
                    : product(node_name, {a.tensor, !a.transposed}, {g, false}, order);
}

}  // namespace

Tensor product(const char* node_name, Factor a, Factor b, Order order) {
  const Tensor y = multiply_in_order(a, b, order);
  return record_bilinear(
      node_name, y, a.tensor, b.tensor,
      [node_name, ta = a.transposed, tb = b.transposed, order = order_of(a.tensor)](
          const Tensor& g, const Tensor& b) {
        return gradient_of_left(node_name, g, ta, {b, tb}, order);
      },
      [node_name, ta = a.transposed, tb = b.transposed, order = order_of(b.tensor)](
          const Tensor& a, const Tensor& g) {
        return gradient_of_right(node_name, g, {a, ta}, tb, order);
      });
}

Tensor mm_product(Factor a, Factor b, Order order) {
  return product("MmBackward0", a, b, order);
}

// It is the sum of the rows; the engine sums to unusual shapes.
Tensor addend_gradient(const Tensor& g, int addend_ndim) {
  return addend_ndim == 1 ? sum(g, {{0}}) : g;
}

Tensor record_addend(const Tensor& y, const Tensor& addend, double beta) {
  return record("AddmmBackward0", y, {addend}, [beta, n = addend.ndim()](BackwardCall& call) {
    const Tensor g = addend_gradient(call.grad(), n);
    call.results[0] = beta == 1 ? g : mul(g, beta);
  });
}

int64_t count_rows(const Tensor& x) {
  return count_elements(IntList(x.sizes().data(), x.ndim() - 1));
}

}  // namespace dt
