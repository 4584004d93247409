// Matrix products. All of them are one kernel call: transposes and broadcasts are strides, and a
// bias is the kernel's third operand.
#include "core/autograd/engine.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise/node.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/linalg.gen.h"
#include "core/runtime/calls/nn.gen.h"

namespace dt {
namespace {

// A factor as the formula uses it: the tensor [n, k] or [b, n, k], or its transpose.
struct Factor {
  const Tensor& tensor;
  bool transposed;

  int64_t rows() const { return tensor.sizes()[tensor.ndim() - (transposed ? 1 : 2)]; }
  int64_t columns() const { return tensor.sizes()[tensor.ndim() - (transposed ? 2 : 1)]; }
  // As the kernel sees it: [batch, rows, columns].
  View view() const {
    const int r = tensor.ndim() - (transposed ? 1 : 2), c = tensor.ndim() - (transposed ? 2 : 1);
    const bool batched = tensor.ndim() == 3;
    const int64_t sizes[] = {batched ? tensor.sizes()[0] : 1, tensor.sizes()[r], tensor.sizes()[c]};
    const int64_t strides[] = {batched ? tensor.strides()[0] : 0, tensor.strides()[r],
                               tensor.strides()[c]};
    return View(tensor, {sizes, 3}, {strides, 3}, tensor.offset());
  }
};

// What is added to a product, broadcast to its shape.
struct Addend {
  Tensor tensor;
  double alpha = 1, beta = 1;
};

View addend_view(const Tensor& c, int64_t rows, int64_t columns) {
  const int64_t sizes[] = {1, rows, columns};
  DT_CHECK(c.ndim() <= 2, kRuntimeError, "expand(", c.sizes(), ", size=[", rows, ", ", columns,
           "]): the number of sizes provided (2) must be greater or equal to the number of "
           "dimensions in the tensor (",
           c.ndim(), ")");
  int64_t strides[] = {0, 0, 0};
  for (int d = 2, k = c.ndim() - 1; k >= 0; --d, --k) {
    DT_CHECK(c.sizes()[k] == sizes[d] || c.sizes()[k] == 1, kRuntimeError,
             "The expanded size of the tensor (", sizes[d], ") must match the existing size (",
             c.sizes()[k], ") at non-singleton dimension ", d - 1, ".  Target sizes: [", rows, ", ",
             columns, "].  Tensor sizes: ", c.sizes());
    if (c.sizes()[k] != 1) strides[d] = c.strides()[k];
  }
  return View(c, {sizes, 3}, {strides, 3}, c.offset());
}

// Bools are not multiplied, but PyTorch finds that out where there is something to multiply.
Tensor bools_without_products(const Tensor& y, int64_t terms, const Addend* addend) {
  const bool is_done = y.numel() == 0 || (terms == 0 && !addend);
  DT_CHECK(is_done, kNotImplemented, y.ndim() == 3 ? "\"bmm\"" : "\"addmm_impl_cpu_\"",
           " not implemented for 'Bool'");
  return zero_(y);
}

// activation(alpha * a @ b + beta * addend), without a record.
Tensor multiply(Factor a, Factor b, const Addend* addend = nullptr,
                Activation activation = Activation::kDefault) {
  const Tensor& x = a.tensor;
  Dims sizes;
  if (x.ndim() == 3) sizes.push_back(x.sizes()[0]);
  sizes.push_back(a.rows());
  sizes.push_back(b.columns());
  const Tensor y = make_empty(sizes, x.dtype(), x.device());
  if (is_bool(x.dtype())) return bools_without_products(y, a.columns(), addend);
  MatmulCall call;
  call.y = Factor{y, false}.view();
  call.a = a.view();
  call.b = b.view();
  call.activation = activation;
  call.alpha = addend ? addend->alpha : 1;
  if (addend) {
    call.c = addend_view(addend->tensor, a.rows(), b.columns());
    call.beta = addend->beta;
  }
  run(op::matmul, call);
  return y;
}

// beta * addend in the product's shape. What is multiplied by 0 is not looked at: it may be NaN.
Tensor multiply_nothing(const Tensor& a, const Tensor& b, const Addend& addend) {
  const GradMode no_grad(false);
  return multiply({narrow(a, 1, 0, 0), false}, {narrow(b, 0, 0, 0), false}, &addend);
}

enum class Order { kRows, kColumns };  // which lie in memory one after the other

// The gradient of a matrix is made in the matrix's own order: it needs no copy to become .grad, nor
// does that of w where x @ w.t() was computed.
Order order_of(const Tensor& x) {
  const bool columns =
      x.ndim() == 2 && x.strides()[0] == 1 && x.strides()[1] == x.sizes()[0] && !x.is_contiguous();
  return columns ? Order::kColumns : Order::kRows;
}

// a @ b in either order, without a record.
Tensor multiply_in_order(Factor a, Factor b, Order order) {
  if (order == Order::kRows) return multiply(a, b);
  const Tensor t = multiply({b.tensor, !b.transposed}, {a.tensor, !a.transposed});
  return make_alias(t, {t.size(1), t.size(0)}, {1, t.size(1)}, 0);
}

Tensor product(const char* node_name, Factor a, Factor b, Order order = Order::kRows);

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

// The differentiable product of two matrices or batches, either of them transposed.
Tensor product(const char* node_name, Factor a, Factor b, Order order) {
  const Tensor y = multiply_in_order(a, b, order);
  const bool wants_a = needs_graph(a.tensor), wants_b = needs_graph(b.tensor);
  if (!wants_a && !wants_b) return y;
  return record(
      node_name, y, {a.tensor, b.tensor},
      [node_name, ta = a.transposed, tb = b.transposed, order_a = order_of(a.tensor),
       order_b = order_of(b.tensor), left = save_if(wants_b, a.tensor),
       right = save_if(wants_a, b.tensor)](BackwardCall& call) {
        const Tensor& g = call.grad();
        if (call.wants(0))
          call.results[0] = gradient_of_left(node_name, g, ta, {right.get(call.node), tb}, order_a);
        if (call.wants(1))
          call.results[1] = gradient_of_right(node_name, g, {left.get(call.node), ta}, tb, order_b);
      });
}

Tensor mm_product(const Tensor& a, bool ta, const Tensor& b, bool tb, Order order = Order::kRows) {
  return product("MmBackward0", {a, ta}, {b, tb}, order);
}

void check_multiply(Factor a, Factor b) {
  DT_CHECK(a.columns() == b.rows(), kRuntimeError, "mat1 and mat2 shapes cannot be multiplied (",
           a.rows(), "x", a.columns(), " and ", b.rows(), "x", b.columns(), ")");
  DT_CHECK(a.tensor.dtype() == b.tensor.dtype(), kRuntimeError,
           "expected m1 and m2 to have the same dtype, but got: ", c_type_word(a.tensor.dtype()),
           " != ", c_type_word(b.tensor.dtype()));
}

void check_addend_dtype(const Tensor& c, const Tensor& factor) {
  DT_CHECK(c.dtype() == factor.dtype(), kRuntimeError,
           "self and mat2 must have the same dtype, but got ", type_word(c.dtype()), " and ",
           type_word(factor.dtype()));
}

Tensor scaled(const Tensor& x, double factor) {
  return factor == 1 ? x : mul(x, factor);
}

int64_t count(const Dims& sizes, int first, int last) {
  int64_t n = 1;
  for (int d = first; d < last; ++d) n *= sizes[d];
  return n;
}

// x with its leading dimensions broadcast to `batch` and joined into one.
Tensor as_batch(const Tensor& x, const Dims& batch) {
  const int64_t rows = x.sizes()[x.ndim() - 2], columns = x.sizes()[x.ndim() - 1];
  Dims sizes = batch;
  sizes.push_back(rows);
  sizes.push_back(columns);
  return reshape(expand(x, sizes), {count(batch, 0, batch.size()), rows, columns});
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
  const Tensor tall = reshape(a, {count(a.sizes(), 0, a.ndim() - 1), a.size(-1)});
  if (b.ndim() == 1) return unsafe_view(mv(tall, b), sizes);
  sizes.push_back(b.size(1));
  return unsafe_view(mm(tall, b), sizes);
}

// The bias's gradient is the sum of the rows; the engine sums to unusual shapes.
Tensor bias_gradient(const Tensor& g, int bias_ndim) {
  return bias_ndim == 1 ? sum(g, {{0}}) : g;
}

// The record of a product of constants: nothing of it is kept, so that backward may run twice.
Tensor record_addend(const Tensor& y, const Tensor& addend, double beta) {
  return record("AddmmBackward0", y, {addend}, [beta, n = addend.ndim()](BackwardCall& call) {
    call.results[0] = scaled(bias_gradient(call.grad(), n), beta);
  });
}

// ---- layers

// All gradients of a small layer by one kernel, if the backend has one for it. Undefined: x or w if
// no gradient that is wanted needs it, y if there is no activation.
bool small_linear_backward(BackwardCall& call, const Tensor& g, const Tensor& x, const Tensor& w,
                           const Tensor& y, Activation activation, int bias_ndim) {
  if (call.create_graph || (call.wants(2) && bias_ndim != 1)) return false;
  Tensor gx, gw, gb;
  if (call.wants(0)) gx = make_empty({g.size(0), w.size(1)}, g.dtype(), g.device());
  if (call.wants(1)) gw = make_empty({g.size(1), x.size(1)}, g.dtype(), g.device());
  if (call.wants(2)) gb = make_empty({g.size(1)}, g.dtype(), g.device());
  LinearBackwardCall kernel;
  kernel.gx = gx;
  kernel.gweight = gw;
  kernel.gbias = gb;
  kernel.g = g;
  kernel.x = x;
  kernel.weight = w;
  kernel.y = y;
  kernel.activation = activation;
  if (!run_shortcut(op::linear_backward, kernel)) return false;
  call.results[0] = gx;
  call.results[1] = gw;
  if (call.wants(2)) call.results[2] = gb;
  return true;
}

// Through the activation first, unless one kernel does both.
void linear_backward(BackwardCall& call, const Tensor& x, const Tensor& w, const Tensor& y,
                     Activation activation, int bias_ndim, Order order_x, Order order_w) {
  if (small_linear_backward(call, call.grad(), x, w, y, activation, bias_ndim)) return;
  Tensor g = call.grad();
  if (activation != Activation::kDefault) {
    g = gradient_from_result(activation_row(activation), call, g, y);
    if (small_linear_backward(call, g, x, w, Tensor(), Activation::kDefault, bias_ndim)) return;
  }
  if (call.wants(0)) call.results[0] = mm_product(g, false, w, false, order_x);
  if (call.wants(1)) call.results[1] = mm_product(g, true, x, false, order_w);
  if (call.wants(2)) call.results[2] = bias_gradient(g, bias_ndim);
}

// activation(input [n, in] @ weight^T [in, out] + bias), in one kernel call.
Tensor linear_rows(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   Activation activation) {
  check_multiply({input, false}, {weight, true});
  Tensor y;
  if (bias.defined()) {
    check_addend_dtype(bias, weight);
    const Addend addend{bias};
    y = multiply({input, false}, {weight, true}, &addend, activation);
  } else {
    y = multiply({input, false}, {weight, true}, nullptr, activation);
  }
  const bool wants_input = needs_graph(input), wants_weight = needs_graph(weight);
  if (!wants_input && !wants_weight && !needs_graph(bias)) return y;
  if (!wants_input && !wants_weight && activation == Activation::kDefault)
    return record_addend(y, bias, 1);
  return record(linear_node_name(activation), y, {input, weight, bias},
                [input = save_if(wants_weight, input), weight = save_if(wants_input, weight),
                 result = activation == Activation::kDefault ? Saved() : Saved::output(y),
                 activation, bias_ndim = bias.defined() ? bias.ndim() : 0,
                 order_x = order_of(input), order_w = order_of(weight)](BackwardCall& call) {
                  const Tensor x = call.wants(1) ? input.get(call.node) : Tensor();
                  const Tensor w = call.wants(0) ? weight.get(call.node) : Tensor();
                  linear_backward(call, x, w, result.get(call.node), activation, bias_ndim, order_x,
                                  order_w);
                });
}

Tensor linear_of(const Tensor& input, const Tensor& weight, const Tensor& bias,
                 Activation activation) {
  if (input.ndim() == 2) return linear_rows(input, weight, bias, activation);
  Dims sizes = input.sizes();
  sizes[input.ndim() - 1] = weight.size(0);
  const Tensor rows = reshape(input, {count(input.sizes(), 0, input.ndim() - 1), input.size(-1)});
  return unsafe_view(linear_rows(rows, weight, bias, activation), sizes);
}

}  // namespace

Tensor mm(const Tensor& input, const Tensor& mat2) {
  DT_CHECK(input.ndim() == 2, kRuntimeError, "self must be a matrix");
  DT_CHECK(mat2.ndim() == 2, kRuntimeError, "mat2 must be a matrix");
  check_multiply({input, false}, {mat2, false});
  return mm_product(input, false, mat2, false);
}

Tensor bmm(const Tensor& input, const Tensor& mat2) {
  DT_CHECK(input.ndim() == 3, kRuntimeError, "batch1 must be a 3D tensor");
  DT_CHECK(mat2.ndim() == 3, kRuntimeError, "batch2 must be a 3D tensor");
  DT_CHECK(mat2.sizes()[0] == input.sizes()[0] && mat2.sizes()[1] == input.sizes()[2],
           kRuntimeError, "Expected size for first two dimensions of batch2 tensor to be: [",
           input.sizes()[0], ", ", input.sizes()[2], "] but got: [", mat2.sizes()[0], ", ",
           mat2.sizes()[1], "].");
  DT_CHECK(input.dtype() == mat2.dtype(), kRuntimeError, "expected scalar type ",
           type_word(input.dtype()), " but found ", type_word(mat2.dtype()));
  return product("BmmBackward0", {input, false}, {mat2, false});
}

Tensor mv(const Tensor& input, const Tensor& vec) {
  DT_CHECK(input.ndim() == 2 && vec.ndim() == 1, kRuntimeError,
           "vector + matrix @ vector expected, got 1, ", input.ndim(), ", ", vec.ndim());
  const int64_t rows = input.sizes()[0], columns = input.sizes()[1], length = vec.sizes()[0];
  DT_CHECK(columns == length, kRuntimeError, "size mismatch, got input (", rows, "), mat (", rows,
           "x", columns, "), vec (", length, ")");
  DT_CHECK(input.dtype() == vec.dtype(), kRuntimeError,
           "addmv input tensors must have the same dtype, but got ", type_word(vec.dtype()), ", ",
           type_word(input.dtype()), ", and ", type_word(vec.dtype()));
  return unsafe_view(mm_product(input, false, reshape(vec, {length, 1}), false), {rows});
}

Tensor dot(const Tensor& input, const Tensor& tensor) {
  DT_CHECK(input.ndim() == 1 && tensor.ndim() == 1, kRuntimeError, "1D tensors expected, but got ",
           input.ndim(), "D and ", tensor.ndim(), "D tensors");
  DT_CHECK(input.dtype() == tensor.dtype(), kRuntimeError,
           "dot : expected both vectors to have same dtype, but found ", type_word(input.dtype()),
           " and ", type_word(tensor.dtype()));
  DT_CHECK(!is_bool(input.dtype()), kNotImplemented, "\"dot\" not implemented for 'Bool'");
  const int64_t n = input.numel();
  DT_CHECK(n == tensor.numel(), kRuntimeError, "inconsistent tensor size, expected tensor ",
           input.sizes(), " and src ", tensor.sizes(),
           " to have the same number of elements, but got ", n, " and ", tensor.numel(),
           " elements respectively");
  return unsafe_view(mm_product(reshape(input, {1, n}), false, reshape(tensor, {n, 1}), false), {});
}

Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  DT_CHECK(mat1.ndim() == 2, kRuntimeError, "mat1 must be a matrix, got ", mat1.ndim(),
           "-D tensor");
  DT_CHECK(mat2.ndim() == 2, kRuntimeError, "mat2 must be a matrix, got ", mat2.ndim(),
           "-D tensor");
  check_addend_dtype(input, mat2);
  check_multiply({mat1, false}, {mat2, false});
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
              scaled(mm_product(g, false, right.get(call.node), true, order_1), alpha);
        if (call.wants(2))
          call.results[2] = scaled(mm_product(left.get(call.node), true, g, false, order_2), alpha);
      });
}

Tensor matmul(const Tensor& input, const Tensor& other) {
  const int a = input.ndim(), b = other.ndim();
  DT_CHECK(a > 0 && b > 0, kRuntimeError,
           "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b, "D");
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

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  DT_CHECK(input.ndim() > 0 && weight.ndim() > 0, kRuntimeError,
           "both arguments to linear need to be at least 1D, but they are ", input.ndim(), "D and ",
           weight.ndim(), "D");
  DT_CHECK(weight.ndim() <= 2, kRuntimeError,
           "t() expects a tensor with <= 2 dimensions, but self is ", weight.ndim(), "D");
  if (weight.ndim() == 1) {
    const bool is_sum = !bias.defined() || (bias.ndim() == 0 && input.ndim() != 2);
    DT_CHECK(is_sum, kRuntimeError, "mat2 must be a matrix, got 1-D tensor");
    const Tensor y = matmul(input, weight);
    return bias.defined() ? add(y, bias) : y;
  }
  return linear_of(input, weight, bias, Activation::kDefault);
}

Tensor linear_activation(const Tensor& input, const Tensor& weight, const Tensor& bias,
                         Activation activation) {
  const bool has_kernel = input.ndim() > 0 && weight.ndim() == 2 && is_floating(input.dtype());
  if (has_kernel) return linear_of(input, weight, bias, activation);
  return pointwise(activation_row(activation), {linear(input, weight, bias)});
}

}  // namespace dt
