// Scans: cumsum, cumprod, logcumsumexp.
#include <limits>

#include "core/autograd/fused.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/overwrite.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/reduce/checks.h"
#include "core/ops/reduce/reduced_dims.h"
#include "core/ops/reduce/scan_gradient.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

Tensor run_scan(Op<ScanCall> op, const Tensor& x, int dim, DType dtype) {
  const Tensor y = make_empty(x.sizes(), dtype, x.device());
  ScanCall call;
  call.y = y;
  call.x = x;
  call.compute = info(dtype).compute;
  call.dim = dim;
  run(op, call);
  return y;
}

// The sums from the end, or of anything else that scans.
template <class Scan>
Tensor from_the_end(const Tensor& x, int dim, Scan scan) {
  return flip(scan(flip(x, {dim})), {dim});
}

// The running product by doubling: after a step of size n each element has those of 2 n places.
// Right at zeros, at every order of derivative.
Tensor product_by_doubling(Tensor x, int dim) {
  const int64_t length = x.sizes()[dim];
  for (int64_t n = 1; n < length; n *= 2) {
    const Tensor begin = slice(x, dim, 0, n, 1);
    x = cat({begin, mul(slice(x, dim, n, length, 1), slice(x, dim, 0, length - n, 1))}, dim);
  }
  return x;
}

// Whether dividing by x is safe. A GPU would have to be waited for.
bool is_known_nonzero(const Tensor& x) {
  const GradMode no_grad(false);
  return x.device() == kCpu && item(all(x, std::nullopt, false)).to_double() != 0;
}

// log(x) where x > 0, and -infinity elsewhere.
Tensor log_of_positive(const Tensor& x) {
  return log(clamp_min(x, 0));
}

// y[j] = exp(b[j]) * the sum of h[i] exp(a[i]) over i <= j along dim, or i >= j from the end. It is
// its own kind of derivative: by h with a and b exchanged, from the other end.
Tensor weighted_sums(const Tensor& h, const Tensor& a, const Tensor& b, int dim, bool reverse) {
  Tensor y;
  {
    const GradMode no_grad(false);
    const auto part = [&](const Tensor& positive) {
      const auto scan = [&](const Tensor& x) { return logcumsumexp(x, dim); };
      const Tensor logs = add(log_of_positive(positive), a);
      return exp(add(reverse ? from_the_end(logs, dim, scan) : scan(logs), b));
    };
    y = sub(part(h), part(neg(h)));
  }
  if (!needs_graph({h, a, b})) return y;
  return record("WeightedSumsBackward0", y, {h, a, b},
                [h = Saved::input(h), a = Saved::input(a), b = Saved::input(b),
                 y = Saved::output(y), dim, reverse](BackwardCall& c) {
                  const Tensor grad = c.grad(), weights = h.get(c.node);
                  const Tensor by_h =
                      weighted_sums(grad, b.get(c.node), a.get(c.node), dim, !reverse);
                  if (c.wants(0)) c.results[0] = by_h;
                  if (c.wants(1)) c.results[1] = mul(by_h, weights);
                  if (c.wants(2)) c.results[2] = mul(grad, y.get(c.node));
                });
}

}  // namespace

Tensor scan_gradient(const Tensor& grad, const Tensor& x, const Tensor& y, int dim) {
  const Tensor gx = make_empty(grad.sizes(), grad.dtype(), grad.device());
  if (gx.numel() == 0) return gx;
  ScanBackwardCall call;
  call.gx = gx;
  call.g = grad;
  call.x = x;
  call.y = y;
  call.dim = dim;
  return run_shortcut(op::scan_backward, call) ? gx : Tensor();
}

Tensor cumsum(const Tensor& input, int64_t dim, DType dtype) {
  const int d = wrap_dim(dim, input.ndim());
  const DType sums = accumulate_dtype(input, dtype);
  // Narrower integers are widened as they are read, truth values before.
  const bool is_read_wider =
      sums == kIntegerDType && !is_floating(input.dtype()) && input.dtype() != kDTypeOf<bool>;
  const Tensor x = is_read_wider && input.ndim() > 0 ? input : to_dtype(input, sums);
  if (x.ndim() == 0) return clone(x);
  check_scan(x, "cumsum");
  return record("CumsumBackward0", run_scan(op::cumsum, x, d, sums), {x}, [d](BackwardCall& b) {
    b.results[0] = from_the_end(b.grad(), d, [d](const Tensor& g) { return cumsum(g, d); });
  });
}

Tensor cumprod(const Tensor& input, int64_t dim, DType dtype) {
  const int d = wrap_dim(dim, input.ndim());
  const Tensor x = to_dtype(input, accumulate_dtype(input, dtype));
  if (x.ndim() == 0) return clone(x);
  check_scan(x, "cumprod");
  const Tensor y = run_scan(op::cumprod, x, d, x.dtype());
  if (!needs_graph(x)) return y;
  const auto composition = [d](const std::vector<Tensor>& in) {
    return product_by_doubling(in[0], d);
  };
  return record(
      "CumprodBackward0", y, {x},
      [=, saved = std::vector<Saved>{Saved::input(x)}, y = Saved::output(y)](BackwardCall& b) {
        const Tensor x = saved[0].get(b.node), result = y.get(b.node);
        if (x.sizes()[d] == 1 || x.numel() == 0) {
          b.results[0] = b.grad();  // the product of one
          return;
        }
        if (!b.create_graph) b.results[0] = scan_gradient(b.grad(), x, result, d);
        if (b.results[0].defined()) return;
        if (is_known_nonzero(x)) {
          const auto sums = [d](const Tensor& g) { return cumsum(g, d); };
          const Tensor parts = mul(b.grad(), result);
          b.results[0] = true_divide(from_the_end(parts, d, sums), x);
        } else {
          const GradMode grad(true);
          backward_by_composition(b, saved, composition);
        }
      });
}

const Tensor& cumprod_(const Tensor& self, int64_t dim, DType dtype) {
  const DType t = dtype == DType::kDefault ? self.dtype() : dtype;
  return overwrite_alike(self, cumprod(before_overwrite(self, {self}), dim, t));
}

Tensor logcumsumexp(const Tensor& input, int64_t dim) {
  const int d = wrap_dim(dim, input.ndim());
  check_floating(input, "logcumsumexp_out_cpu");
  if (input.ndim() == 0) return clone(input);
  const Tensor y = run_scan(op::logcumsumexp, input, d, input.dtype());
  if (!needs_graph(input)) return y;
  return record("LogcumsumexpBackward0", y, {input},
                [x = Saved::input(input), y = Saved::output(y), d](BackwardCall& b) {
                  b.results[0] =
                      weighted_sums(b.grad(), neg(y.get(b.node)), x.get(b.node), d, true);
                });
}

}  // namespace dt
