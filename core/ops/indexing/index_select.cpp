// Slices along one dimension that a list of positions names: index_select, index_add.
#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/accumulate.h"
#include "core/ops/indexing/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"
#include "core/runtime/transfer.h"

namespace dt {

Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index) {
  const int d = wrap_dim(dim, input.ndim());
  check_index_select(input, d, index);
  if (input.ndim() == 0) return unsafe_view(index_select(reshape(input, {1}), 0, index), {});
  const Tensor positions = at_least_1d(to_dtype(index, kIndexDType));
  Dims sizes = input.sizes();
  sizes[d] = positions.numel();
  const Tensor y = make_empty(sizes, input.dtype(), input.device());
  IndexSelectCall call;
  call.y = y;
  call.x = input;
  call.index = positions;
  call.dim = d;
  run(op::index_select, call);
  if (!needs_graph(input)) return y;
  return record("IndexSelectBackward0", y, {input},
                [d, sizes = input.sizes(), saved = Saved::input(positions)](BackwardCall& b) {
                  b.results[0] = index_sum(sizes, d, saved.get(b.node), b.grad());
                });
}

Tensor index_sum(const Dims& sizes, int dim, const Tensor& positions, const Tensor& source) {
  const Tensor y = make_empty(sizes, source.dtype(), source.device());
  IndexSumCall call;
  call.y = y;
  call.source = source;
  call.index = positions;
  call.dim = dim;
  run(op::index_sum, call);
  if (!needs_graph(source)) return y;
  return record("IndexAddBackward0", y, {source},
                [dim, saved = Saved::input(positions)](BackwardCall& b) {
                  b.results[0] = index_select(b.grad(), dim, saved.get(b.node));
                });
}

namespace {

// The CPU's kernel rounds 16-bit floats at each slice.
bool rounds_each(const Tensor& y, const Tensor& index) {
  const bool is_narrow_float = is_floating(y.dtype()) && is_narrow(y.dtype());
  return is_narrow_float && y.device() == kCpu && index.numel() > 1;
}

// index_add_ without a graph that adds up in the compute dtype, and rounds what it has written
// once.
void add_widened(const Tensor& self, int dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  const GradMode no_grad(false);
  const DType wide = info(self.dtype()).compute;
  const Tensor y = self.detach_version(), part = to_dtype(source, wide);
  if (index.numel() >= y.sizes()[dim]) {
    const Tensor sum = to_dtype(y, wide);
    copy_elements(y, index_add_(sum, dim, index, part, alpha));
    return;
  }
  const auto [places, slices, counts] = unique(index, true, true);
  const Tensor sum = to_dtype(index_select(y, dim, places), wide);
  index_copy_(y, dim, places, to_dtype(index_add_(sum, dim, slices, part, alpha), y.dtype()));
}

}  // namespace

const Tensor& index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                         const Scalar& alpha) {
  const int d = wrap_dim(dim, self.ndim());
  check_index_add(self, d, index, source);
  const Tensor positions = at_least_1d(to_dtype(index, kIndexDType));
  const Tensor target = at_least_1d(self), slices = at_least_1d(source);
  const double factor = alpha.to_double();
  const auto write = [&] {
    const bool overlaps = slices.storage().get() == target.storage().get();
    const Tensor read = overlaps ? without_record(slices) : slices;
    if (rounds_each(target, positions)) return add_widened(target, d, positions, read, alpha);
    IndexAddCall call;
    call.y = target;
    call.source = read;
    call.index = positions;
    call.dim = d;
    call.alpha = factor;
    run(op::index_add, call);
  };
  if (!needs_graph(slices)) {
    inplace("IndexAddBackward0", target, {target}, write, pass_gradient);
    return self;
  }
  inplace("IndexAddBackward0", target, {target, slices}, write,
          [d, factor, saved = Saved::input(positions)](BackwardCall& b) {
            if (b.wants(0)) b.results[0] = b.grad();
            if (!b.wants(1)) return;
            const Tensor part = index_select(b.grad(), d, saved.get(b.node));
            b.results[1] = factor == 1 ? part : mul(part, factor);
          });
  return self;
}

Tensor index_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  const Tensor y = clone(input, MemoryFormat::kContiguous);
  index_add_(y, dim, index, source, alpha);
  return y;
}

}  // namespace dt
