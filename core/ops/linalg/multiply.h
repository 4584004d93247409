// Products of matrices as ops make them: a factor may be transposed, something may be added, and
// the result has a gradient.
#pragma once

#include "core/base/enums.h"
#include "core/runtime/call.h"
#include "core/tensor/tensor.h"

namespace dt {

// A factor as the formula uses it: the tensor [n, k] or [b, n, k], or its transpose.
struct Factor {
  const Tensor& tensor;
  bool transposed;

  int64_t rows() const { return tensor.sizes()[tensor.ndim() - (transposed ? 1 : 2)]; }
  int64_t columns() const { return tensor.sizes()[tensor.ndim() - (transposed ? 2 : 1)]; }
  // As the kernel sees it: [batch, rows, columns].
  View view() const;
};

// What is added to a product, broadcast to its shape.
struct Addend {
  Tensor tensor;
  double alpha = 1, beta = 1;
};

// activation(alpha * a @ b + beta * addend), without a record.
Tensor multiply(Factor a, Factor b, const Addend* addend = nullptr,
                Activation activation = Activation::kDefault);

enum class Order { kRows, kColumns };  // which lie in memory one after the other

// The gradient of a matrix is made in the matrix's own order: it needs no copy to become .grad, nor
// does that of w where x @ w.t() was computed.
Order order_of(const Tensor& x);

// The differentiable product of two matrices or batches, either of them transposed.
Tensor product(const char* node_name, Factor a, Factor b, Order order = Order::kRows);
Tensor mm_product(Factor a, Factor b, Order order = Order::kRows);

// Of what was added to each row of a product whose gradient is g.
Tensor addend_gradient(const Tensor& g, int addend_ndim);
// The record of a product of constants: nothing of it is kept, so that backward may run twice.
Tensor record_addend(const Tensor& y, const Tensor& addend, double beta);

// Of all dimensions of x but the last.
int64_t count_rows(const Tensor& x);

}  // namespace dt
