// Sums and products: sum, mean, prod, logsumexp.
#include "core/autograd/fused.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/checks.h"
#include "core/ops/reduce/reduced_dims.h"
#include "core/ops/reduce/scan_gradient.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {

Tensor sum(const Tensor& input, std::optional<IntList> dim, bool keepdim, DType dtype) {
  const DType out = accumulate_dtype(input, dtype);
  // Elements are converted before they are added: 0.5 + 0.5 is 0 in integers, 1 - 1 true in bool.
  const bool cuts = is_floating(input.dtype()) ? !is_floating(out) : is_bool(out);
  if (cuts && input.dtype() != out) return sum(to_dtype(input, out), dim, keepdim, out);
  const ReducedDims reduced(input, dim, keepdim);
  const Tensor y = run_reduction(op::sum, input, reduced, out, out);
  return record("SumBackward0", y, {input},
                [kept = reduced.kept_sizes, sizes = input.sizes()](BackwardCall& b) {
                  b.results[0] = spread(b.grad(), kept, sizes);
                });
}

Tensor mean(const Tensor& input, std::optional<IntList> dim, bool keepdim, DType dtype) {
  check_mean_dtype(input.dtype(), dtype);
  const DType out = dtype == DType::kDefault ? input.dtype() : dtype;
  const ReducedDims reduced(input, dim, keepdim);
  const Tensor y = run_reduction(op::mean, input, reduced, out, out);
  return record("MeanBackward0", y, {input},
                [kept = reduced.kept_sizes, sizes = input.sizes(),
                 n = double(reduced.count)](BackwardCall& b) {
                  // Spread first, as PyTorch does: a hook may write to what comes out of a
                  // division.
                  b.results[0] = div(spread(b.grad(), kept, sizes), n);
                });
}

namespace {

// The product of x along dimension d by halves: right at zeros, at every order of derivative.
Tensor product_by_halves(Tensor x, int d) {
  if (x.sizes()[d] == 0) return exp(sum(x, {{d}}, true));  // 1, and x has a part in it
  while (x.sizes()[d] > 1) {
    const int64_t n = x.sizes()[d], half = n / 2;
    Tensor product = mul(slice(x, d, 0, half, 1), slice(x, d, half, 2 * half, 1));
    x = n % 2 ? cat({product, slice(x, d, n - 1, n, 1)}, d) : product;
  }
  return x;
}

// The gradient by x of its product along dimension d: that of the last running product. Undefined
// where no kernel goes through lines from their ends.
Tensor product_gradient(const Tensor& grad, const Tensor& x, int d) {
  const DType wide = info(x.dtype()).compute;
  if (x.device() == kCpu || x.numel() == 0 || x.dtype() != wide) return {};
  const GradMode no_grad(false);
  const Tensor slopes = zeros(x.sizes(), wide, x.device());
  copy_elements(narrow(slopes, d, x.sizes()[d] - 1, 1), grad);
  return scan_gradient(slopes, x, cumprod(x, d), d);
}

}  // namespace

Tensor prod(const Tensor& input, std::optional<int64_t> dim, bool keepdim, DType dtype) {
  const Tensor x = to_dtype(input, accumulate_dtype(input, dtype));
  const int d = wrap_dim(dim.value_or(0), x.ndim());
  if (x.ndim() == 0) return clone(x);
  if (!dim) {
    const Tensor y = prod(reshape(x, {-1}), 0, false, x.dtype());
    return keepdim ? unsafe_view(y, Dims(x.ndim(), 1)) : y;
  }
  const ReducedDims reduced(x, IntList{d}, keepdim);
  const Tensor y = run_reduction(op::prod, x, reduced, x.dtype(), x.dtype());
  if (!needs_graph(x)) return y;
  const auto composition = [d, sizes = reduced.result_sizes](const std::vector<Tensor>& in) {
    return reshape(product_by_halves(in[0], d), sizes);
  };
  return record("ProdBackward0", y, {x},
                [=, sizes = reduced.kept_sizes,
                 saved = std::vector<Saved>{Saved::input(x)}](BackwardCall& b) {
                  if (!b.create_graph) {
                    const Tensor g = reshape(b.grad(), sizes);
                    b.results[0] = product_gradient(g, saved[0].get(b.node), d);
                    if (b.results[0].defined()) return;
                  }
                  const GradMode grad(true);
                  backward_by_composition(b, saved, composition);
                });
}

Tensor logsumexp(const Tensor& input, IntList dim, bool keepdim) {
  const Tensor x = is_floating(input.dtype()) ? input : to_dtype(input, context().default_dtype);
  const ReducedDims reduced(x, dim, keepdim);
  Tensor y;
  {
    const GradMode no_grad(false);
    Tensor top = zeros(reduced.kept_sizes, x.dtype(), x.device());
    if (reduced.count > 0) top = amax(x, dim, true);
    top = masked_fill(top, isinf(top), 0);
    y = unsafe_view(add(log(sum(exp(sub(x, top)), dim, true)), top), reduced.result_sizes);
  }
  if (!needs_graph(x)) return y;
  return record(
      "LogsumexpBackward0", y, {x},
      [x = Saved::input(x), y = Saved::output(y), kept = reduced.kept_sizes](BackwardCall& b) {
        const Tensor input = x.get(b.node);
        const Tensor whole = spread(y.get(b.node), kept, input.sizes());
        const Tensor share = exp(sub(input, whole));
        b.results[0] = mul(spread(b.grad(), kept, input.sizes()), share);
      });
}

}  // namespace dt
