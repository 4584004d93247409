// scatter that combines what meets: sums and means are made of scatter_add, products and extremes
// have kernels.
#include <limits>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/checks.h"
#include "core/ops/overwrite.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"

namespace dt {
namespace {

enum class Fold { kProduct, kLargest, kSmallest };

// What changes nothing that it is combined with.
Scalar neutral(Fold fold, DType dtype) {
  if (fold == Fold::kProduct) return 1;
  return visit(dtype, [&](auto type) -> Scalar {
    using T = typename decltype(type)::type;
    const bool highest = fold == Fold::kSmallest;
    if constexpr (kIsBool<T>) {
      return highest;
    } else if constexpr (kIsFloating<T>) {
      const double infinity = std::numeric_limits<double>::infinity();
      return highest ? infinity : -infinity;
    } else {
      using Limits = std::numeric_limits<T>;
      return int64_t{highest ? Limits::max() : Limits::lowest()};
    }
  });
}

Tensor ones_of(const Tensor& x) {
  return ones(x.sizes(), x.dtype(), x.device());
}

// The gradients of a product: that of each factor is the product of the others, which is found
// without dividing by 0.
void product_gradients(BackwardCall& b, int dim, const Tensor& self, const Tensor& src,
                       const Tensor& index, const Tensor& y) {
  const Tensor& g = b.grad();
  if (b.wants(0)) {
    const Tensor factor = masked_fill(self, eq(self, 0), 1);
    const Tensor product = scatter_reduce(factor, dim, index, src, "prod");
    b.results[0] = div(mul(g, product), factor);
  }
  if (!b.wants(1)) return;
  const Tensor is_zero = eq(src, 0), counted = to_dtype(is_zero, g.dtype());
  const Tensor zeros_met = gather(scatter_add(zeros_like(g), dim, index, counted), dim, index);
  const Tensor only_zero = logical_and(is_zero, eq(zeros_met, 1));
  const Tensor others = scatter_reduce(self, dim, index, masked_fill(src, only_zero, 1), "prod");
  b.results[1] = where(only_zero, gather(mul(g, others), dim, index),
                       div(gather(mul(g, y), dim, index), masked_fill(src, is_zero, 1)));
}

// Those that are the extreme share its gradient.
void extreme_gradients(BackwardCall& b, int dim, const Tensor& self, const Tensor& src,
                       const Tensor& index, const Tensor& y) {
  const Tensor& g = b.grad();
  const Tensor mine = to_dtype(eq(self, y), g.dtype());
  const Tensor theirs = to_dtype(eq(src, gather(y, dim, index)), g.dtype());
  const Tensor share = div(g, scatter_add(mine, dim, index, theirs));
  if (b.wants(0)) b.results[0] = mul(mine, share);
  if (b.wants(1)) b.results[1] = mul(theirs, gather(share, dim, index));
}

// All at least 1-d; src has the index's sizes.
Tensor folded(const Tensor& self, int dim, const Tensor& index, const Tensor& src, Fold fold) {
  const Tensor y = clone(self.detach(), MemoryFormat::kContiguous);
  ScatterFoldCall call;
  call.y = y;
  call.source = src;
  call.index = index;
  call.dim = dim;
  run(fold == Fold::kProduct   ? op::scatter_prod
      : fold == Fold::kLargest ? op::scatter_amax
                               : op::scatter_amin,
      call);
  if (!needs_graph({self, src})) return y;
  return record("ScatterReduceBackward0", y, {self, src},
                [dim, fold, s = Saved::input(self), v = Saved::input(src), i = Saved::input(index),
                 r = Saved::output(y)](BackwardCall& b) {
                  const auto gradients =
                      fold == Fold::kProduct ? product_gradients : extreme_gradients;
                  gradients(b, dim, s.get(b.node), v.get(b.node), i.get(b.node), r.get(b.node));
                });
}

Tensor scattered_mean(const Tensor& base, int dim, const Tensor& index, const Tensor& src,
                      bool include_self) {
  const Tensor start = include_self ? ones_of(base) : scatter(ones_of(base), dim, index, 0);
  const Tensor count = scatter_add(start, dim, index, ones_of(src));
  const Tensor sum = scatter_add(base, dim, index, src);
  return is_floating(base.dtype()) ? div(sum, count) : floor_divide(sum, count);
}

}  // namespace

Tensor scatter_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self) {
  check_scatter_reduce(reduce);
  const int d = wrap_dim(dim, input.ndim());
  check_scatter_dtypes("scatter", input, &src, index);
  check_has_mean(input, reduce);
  if (index.numel() == 0) return scatter_add(input, dim, index, src);
  check_scatter(input, d, index, src);
  const Tensor x = at_least_1d(input), at = at_least_1d(to_dtype(index, kIndexDType));
  Tensor part = at_least_1d(src);
  for (int i = 0; i < at.ndim(); ++i) part = narrow(part, i, 0, at.sizes()[i]);
  const Fold fold = reduce == "prod"   ? Fold::kProduct
                    : reduce == "amax" ? Fold::kLargest
                                       : Fold::kSmallest;
  const bool adds = reduce == "sum" || reduce == "mean";
  const Scalar start = adds ? Scalar(0) : neutral(fold, x.dtype());
  const Tensor base = include_self ? x : scatter(x, d, at, start);
  const Tensor y = reduce == "sum"    ? scatter_add(base, d, at, part)
                   : reduce == "mean" ? scattered_mean(base, d, at, part, include_self)
                                      : folded(base, d, at, part, fold);
  return input.ndim() == 0 ? unsafe_view(y, {}) : y;
}

const Tensor& scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& src, const std::string& reduce, bool include_self) {
  const Tensor before = before_overwrite(self, {self, src});
  check_scatter_apart(self, index, src);
  return overwrite(self, scatter_reduce(before, dim, index, src, reduce, include_self));
}

Tensor index_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                    const std::string& reduce, bool include_self) {
  const int d = wrap_dim(dim, input.ndim());
  check_index_reduce(input, d, index, source, reduce, include_self);
  Dims line(std::max(source.ndim(), 1), 1);
  line[d] = index.numel();
  const Tensor at = expand(reshape(index, line), at_least_1d(source).sizes());
  return scatter_reduce(input, d, at, at_least_1d(source), reduce, include_self);
}

const Tensor& index_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                            const Tensor& source, const std::string& reduce, bool include_self) {
  const Tensor before = before_overwrite(self, {self, source});
  check_scatter_apart(self, index, source);
  return overwrite(self, index_reduce(before, dim, index, source, reduce, include_self));
}

}  // namespace dt
