// Gathering and scattering elements along one dimension.
#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/accumulate.h"
#include "core/ops/indexing/checks.h"
#include "core/ops/indexing/put_apart.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"

namespace dt {
namespace {

Tensor sum_of_nothing(const Tensor& g, const Dims& sizes);

// What no index chooses: of any shape that has no elements, and the index of any dtype.
Tensor gather_nothing(const Tensor& input, const Dims& sizes) {
  const Tensor y = make_empty(sizes, input.dtype(), input.device());
  return record("GatherBackward0", y, {input}, [sizes = input.sizes()](BackwardCall& b) {
    b.results[0] = sum_of_nothing(b.grad(), sizes);
  });
}

// What no element of a gradient was added to. Its graph leads through that gradient, as if there
// were some.
Tensor sum_of_nothing(const Tensor& g, const Dims& sizes) {
  return add(zeros(sizes, g.dtype(), g.device()), sum(gather_nothing(g, {0})));
}

// The index serves the gradient of src, and that of self where self is overwritten.
bool keeps_index(const Operand& src, bool accumulate) {
  return !accumulate || needs_graph(src.tensor());
}

// scatter_ and scatter_add_ on arguments that are checked and at least 1-d.
void scatter_in_place(const char* node_name, const Tensor& self, int dim, const Tensor& index,
                      const Operand& src, bool accumulate) {
  const auto write = [&] { write_scatter(self, dim, index, src, accumulate); };
  if (!keeps_index(src, accumulate)) return inplace(node_name, self, {self}, write, pass_gradient);
  inplace(node_name, self, {self, src.tensor()}, write,
          [dim, accumulate, saved = Saved::input(index)](BackwardCall& b) {
            const Tensor positions = saved.get(b.node);
            if (b.wants(0))
              b.results[0] = accumulate ? b.grad() : scatter(b.grad(), dim, positions, 0);
            if (b.wants(1)) b.results[1] = gather(b.grad(), dim, positions);
          });
}

// An index without elements says nothing of shapes, and writes nothing; still it is a write.
void scatter_nothing(const char* node_name, const Tensor& self, const Tensor& index,
                     const Operand& src, bool accumulate) {
  if (!keeps_index(src, accumulate))
    return inplace(
        node_name, self, {self}, [] {}, pass_gradient);
  const Dims sizes = src.is_number() ? Dims() : src.tensor().sizes();
  inplace(
      node_name, self, {self, src.tensor()}, [] {},
      [sizes, saved = Saved::input(index)](BackwardCall& b) {
        saved.get(b.node);
        if (b.wants(0)) b.results[0] = b.grad();
        if (b.wants(1)) b.results[1] = sum_of_nothing(b.grad(), sizes);
      });
}

const Tensor& scatter_into(const char* name, const char* node_name, const Tensor& self, int64_t dim,
                           const Tensor& index, const Operand& src, bool accumulate) {
  const int d = wrap_dim(dim, self.ndim());
  const Tensor* source = src.is_number() ? nullptr : &src.tensor();
  check_scatter_dtypes(name, self, source, index);
  const Tensor positions = at_least_1d(to_dtype(index, kIndexDType));
  if (positions.numel() == 0) {
    scatter_nothing(node_name, self, index, src, accumulate);
    return self;
  }
  check_scatter(self, d, index, src);
  check_scatter_apart(self, index, src);
  const Operand part = source ? Operand(reached_part(*source, positions)) : src;
  scatter_in_place(node_name, at_least_1d(self), d, positions, part, accumulate);
  return self;
}

}  // namespace

Tensor reached_part(Tensor src, const Tensor& index) {
  src = at_least_1d(src);
  for (int d = 0; d < index.ndim(); ++d) {
    if (src.sizes()[d] > index.sizes()[d]) src = narrow(src, d, 0, index.sizes()[d]);
  }
  return src;
}

void write_scatter(const Tensor& self, int dim, const Tensor& index, const Operand& src,
                   bool accumulate) {
  ScatterCall call;
  call.y = self;
  call.index = index;
  call.dim = dim;
  call.accumulate = accumulate;
  if (src.is_number()) {
    call.source = View(src.number(), self.dtype(), index.sizes());
    return run(op::scatter, call);
  }
  const bool overlaps = src.tensor().storage().get() == self.storage().get();
  const Tensor source = overlaps ? without_record(src.tensor()) : src.tensor();
  call.source = source;
  run(op::scatter, call);
}

Tensor put_apart(const Dims& sizes, int dim, const Tensor& index, const Tensor& src) {
  // Whoever has written to the indices behind the graph's back may have left places out.
  const Tensor y = zeros(sizes, src.dtype(), src.device());
  ScatterCall call;
  call.y = y;
  call.source = src;
  call.index = index;
  call.dim = dim;
  call.apart = true;
  run(op::scatter, call);
  return y;
}

Tensor gather(const Tensor& input, int64_t dim, const Tensor& index, bool sparse_grad) {
  check_gather_options(sparse_grad);
  const int d = wrap_dim(dim, input.ndim());
  if (index.numel() == 0) return gather_nothing(input, index.sizes());
  check_gather(input, d, index);
  const Tensor positions = at_least_1d(to_dtype(index, kIndexDType));
  const Tensor x = at_least_1d(input);
  const Tensor y = make_empty(positions.sizes(), x.dtype(), x.device());
  GatherCall call;
  call.y = y;
  call.x = x;
  call.index = positions;
  call.dim = d;
  run(op::gather, call);
  if (needs_graph(x)) {
    record("GatherBackward0", y, {x},
           [d, sizes = x.sizes(), saved = Saved::input(positions)](BackwardCall& b) {
             const Tensor& g = b.grad();
             b.results[0] =
                 scatter_add(zeros(sizes, g.dtype(), g.device()), d, saved.get(b.node), g);
           });
  }
  return index.ndim() == 0 ? unsafe_view(y, {}) : y;
}

const Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Operand& src) {
  return scatter_into("scatter", "ScatterBackward0", self, dim, index, src, false);
}

Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Operand& src) {
  const Tensor y = clone(input, MemoryFormat::kContiguous);
  scatter_(y, dim, index, src);
  return y;
}

const Tensor& scatter_add_(const Tensor& self, int64_t dim, const Tensor& index,
                           const Tensor& src) {
  return scatter_into("scatter", "ScatterAddBackward0", self, dim, index, src, true);
}

Tensor scatter_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& src) {
  const Tensor y = clone(input, MemoryFormat::kContiguous);
  scatter_add_(y, dim, index, src);
  return y;
}

Tensor one_hot(const Tensor& input, int64_t num_classes) {
  num_classes = checked_classes(input, num_classes);
  Dims sizes = input.sizes();
  sizes.push_back(num_classes);
  const Tensor y = zeros(sizes, kIndexDType, input.device());
  scatter_(y, -1, unsqueeze(input, -1), 1);
  return y;
}

}  // namespace dt
