// scatter that combines what meets: sums and means are made of scatter_add, products and extremes
// have kernels.
#include <limits>

#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/accumulate.h"
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

enum class Fold { kSum, kProduct, kLargest, kSmallest };

Fold fold_of(const std::string& reduce) {
  return reduce == "prod"   ? Fold::kProduct
         : reduce == "amax" ? Fold::kLargest
         : reduce == "amin" ? Fold::kSmallest
                            : Fold::kSum;
}

// What changes nothing that it is combined with.
Scalar neutral(Fold fold, DType dtype) {
  if (fold == Fold::kSum) return 0;
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
  const auto of_place = [&](const Tensor& x) { return gather(x, dim, index); };
  const auto met = [&](const Tensor& x) {
    return of_place(scatter_add(zeros_like(g), dim, index, x));
  };
  const Tensor is_zero = eq(src, 0), zeros_met = met(to_dtype(is_zero, g.dtype()));
  // Of two zeros each is the other one's gradient but for a factor, which a further one is made of.
  const bool again = needs_graph({g, self, src});
  const Tensor few = logical_and(is_zero, le(zeros_met, again ? 2 : 1));
  const Tensor others = scatter_reduce(self, dim, index, masked_fill(src, few, 1), "prod");
  Tensor of_zero = of_place(mul(g, others));
  if (again) {
    const Tensor other = sub(met(masked_fill(src, ne(src, 0), 0)), src);
    of_zero = mul(of_zero, masked_fill(other, ne(zeros_met, 2), 1));
  }
  b.results[1] = where(few, of_zero, div(of_place(mul(g, y)), masked_fill(src, is_zero, 1)));
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
void run_fold(const Tensor& y, int dim, const Tensor& index, const Tensor& src, Fold fold) {
  ScatterFoldCall call;
  call.y = y;
  call.source = src;
  call.index = index;
  call.dim = dim;
  run(fold == Fold::kProduct   ? op::scatter_prod
      : fold == Fold::kLargest ? op::scatter_amax
                               : op::scatter_amin,
      call);
}

Tensor folded(const Tensor& self, int dim, const Tensor& index, const Tensor& src, Fold fold) {
  const Tensor y = clone(self.detach(), MemoryFormat::kContiguous);
  run_fold(y, dim, index, src, fold);
  if (!needs_graph({self, src})) return y;
  return record("ScatterReduceBackward0", y, {self, src},
                [dim, fold, s = Saved::input(self), v = Saved::input(src), i = Saved::input(index),
                 r = Saved::output(y)](BackwardCall& b) {
                  const auto gradients =
                      fold == Fold::kProduct ? product_gradients : extreme_gradients;
                  gradients(b, dim, s.get(b.node), v.get(b.node), i.get(b.node), r.get(b.node));
                });
}

// Only where nothing is recorded: what is not reached is not touched.
void reduce_in_place(const Tensor& self, int dim, const Tensor& index, const Tensor& src, Fold fold,
                     bool include_self) {
  const auto write = [&] {
    if (!include_self) write_scatter(self, dim, index, neutral(fold, self.dtype()), false);
    if (fold == Fold::kSum) return write_scatter(self, dim, index, src, true);
    run_fold(self, dim, index, src, fold);
  };
  inplace("ScatterReduceBackward0", self, {self}, write, pass_gradient);
}

Tensor scattered_mean(const Tensor& base, int dim, const Tensor& index, const Tensor& src,
                      bool include_self) {
  const Tensor start = include_self ? ones_of(base) : scatter(ones_of(base), dim, index, 0);
  const Tensor count = scatter_add(start, dim, index, ones_of(src));
  const Tensor sum = scatter_add(base, dim, index, src);
  return is_floating(base.dtype()) ? div(sum, count) : floor_divide(sum, count);
}

// The dimension.
int check_reduced(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  const std::string& reduce) {
  check_scatter_reduce(reduce);
  const int d = wrap_dim(dim, self.ndim());
  check_scatter_dtypes("scatter", self, &src, index);
  check_has_mean(self, reduce);
  if (index.numel() > 0) check_scatter(self, d, index, src);
  return d;
}

}  // namespace

Tensor scatter_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self) {
  const int d = check_reduced(input, dim, index, src, reduce);
  if (index.numel() == 0) return scatter_add(input, dim, index, src);
  const Tensor x = at_least_1d(input), at = at_least_1d(to_dtype(index, kIndexDType));
  const Tensor part = reached_part(src, at);
  const Fold fold = fold_of(reduce);
  const Tensor base = include_self ? x : scatter(x, d, at, neutral(fold, x.dtype()));
  const Tensor y = reduce == "mean"     ? scattered_mean(base, d, at, part, include_self)
                   : fold == Fold::kSum ? scatter_add(base, d, at, part)
                                        : folded(base, d, at, part, fold);
  return input.ndim() == 0 ? unsafe_view(y, {}) : y;
}

const Tensor& scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& src, const std::string& reduce, bool include_self) {
  const Tensor before = before_overwrite(self, {self, src});
  check_scatter_apart(self, index, src);
  const bool is_recorded = needs_graph({self, src});
  if (is_recorded || reduce == "mean" || index.numel() == 0)
    return overwrite(self, scatter_reduce(before, dim, index, src, reduce, include_self));
  const int d = check_reduced(self, dim, index, src, reduce);
  const Tensor at = at_least_1d(to_dtype(index, kIndexDType));
  reduce_in_place(at_least_1d(self), d, at, reached_part(src, at), fold_of(reduce), include_self);
  return self;
}

namespace {

// The index of each element of a source that has one for each of its slices.
Tensor spread(const Tensor& index, int dim, const Tensor& source) {
  Dims line(source.ndim(), 1);
  line[dim] = index.numel();
  return expand(reshape(index, line), source.sizes());
}

}  // namespace

Tensor index_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                    const std::string& reduce, bool include_self) {
  const int d = wrap_dim(dim, input.ndim());
  check_index_reduce(input, d, index, source, reduce, include_self);
  const Tensor part = at_least_1d(source);
  return scatter_reduce(input, d, spread(index, d, part), part, reduce, include_self);
}

const Tensor& index_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                            const Tensor& source, const std::string& reduce, bool include_self) {
  check_history_change(self, is_floating(self.dtype()) && needs_graph({self, source}));
  check_scatter_apart(self, index, source);
  const int d = wrap_dim(dim, self.ndim());
  check_index_reduce(self, d, index, source, reduce, include_self);
  const Tensor part = at_least_1d(source);
  return scatter_reduce_(self, d, spread(index, d, part), part, reduce, include_self);
}

}  // namespace dt
