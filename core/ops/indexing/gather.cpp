// Gathering and scattering along one dimension.
#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"

namespace dt {
namespace {

// ---- slices: index_select and index_add

void check_index_add(const Tensor& self, int dim, const Tensor& index, const Tensor& source) {
  DT_CHECK(
      is_index(index.dtype()), kRuntimeError,
      "index_add_(): Expected dtype int32/int64 for index but got: ", type_word(index.dtype()));
  DT_CHECK(index.ndim() <= 1, kIndexError,
           "index_add_(): Index is supposed to be a vector, but got dim: ", index.ndim(),
           " with type: ", type_word(index.dtype()), " and size: ", index.sizes());
  DT_CHECK(self.dtype() == source.dtype(), kRuntimeError, "index_add_(): self (",
           type_word(self.dtype()), ") and source (", type_word(source.dtype()),
           ") must have the same scalar type");
  DT_CHECK(self.ndim() == source.ndim(), kRuntimeError,
           "source tensor shape must match self tensor shape, excluding the specified dimension. "
           "Got self.shape = ",
           self.sizes(), " source.shape = ", source.sizes());
  const int64_t count = self.ndim() == 0 ? 1 : source.sizes()[dim];
  DT_CHECK(index.numel() == count, kRuntimeError, "index_add_(): Number of indices (",
           index.numel(), ") should be equal to source.size(dim): (", count, "), for dim: ", dim);
  for (int d = 0; d < self.ndim(); ++d) {
    DT_CHECK(d == dim || self.sizes()[d] == source.sizes()[d], kRuntimeError,
             "source tensor shape must match self tensor shape, excluding the specified dimension. "
             "Got self.shape = ",
             self.sizes(), " source.shape = ", source.sizes());
  }
}

// ---- elements: gather and scatter

// What no index chooses: of any shape that has no elements, and the index of any dtype.
Tensor gather_nothing(const Tensor& input, const Dims& sizes) {
  const Tensor y = make_empty(sizes, input.dtype(), input.device());
  return record("GatherBackward0", y, {input}, [sizes = input.sizes()](BackwardCall& b) {
    b.results[0] = b.flat_in_inputs(zeros(sizes, b.grad().dtype(), b.grad().device()));
  });
}

// The first dimension other than `dim` where the index is larger than self, or -1.
int oversized_dim(const Tensor& self, int dim, const Tensor& index) {
  for (int d = 0; d < index.ndim(); ++d) {
    if (d != dim && index.sizes()[d] > at_least_1d(self).sizes()[d]) return d;
  }
  return -1;
}

// A number counts as having one dimension.
bool same_rank(const Tensor& a, const Tensor& b) {
  return std::max(a.ndim(), 1) == std::max(b.ndim(), 1);
}

void check_scatter(const Tensor& self, int dim, const Tensor& index, const Tensor* src) {
  DT_CHECK(same_rank(self, index), kRuntimeError,
           "Index tensor must have the same number of dimensions as self tensor");
  const bool fits = oversized_dim(self, dim, index) < 0;
  if (!src) {
    DT_CHECK(fits, kRuntimeError, "Expected index ", index.sizes(), " to be no larger than self ",
             self.sizes(), " apart from dimension ", dim);
    return;
  }
  DT_CHECK(same_rank(*src, index), kRuntimeError,
           "Index tensor must have the same number of dimensions as src tensor");
  bool covered = true;
  for (int d = 0; d < index.ndim(); ++d) {
    covered &= index.sizes()[d] <= at_least_1d(*src).sizes()[d];
  }
  DT_CHECK(fits && covered, kRuntimeError, "Expected index ", index.sizes(),
           " to be no larger than self ", self.sizes(), " apart from dimension ", dim,
           " and to be no larger size than src ", src->sizes());
}

// The part of src that the index reaches. A view, so that the rest of src gets a zero gradient.
Tensor reached_part(Tensor src, const Tensor& index) {
  src = at_least_1d(src);
  for (int d = 0; d < index.ndim(); ++d) {
    if (src.sizes()[d] > index.sizes()[d]) src = narrow(src, d, 0, index.sizes()[d]);
  }
  return src;
}

Tensor without_record(const Tensor& x) {
  const GradMode no_grad(false);
  return clone(x);
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

// The index serves the gradient of src, and that of self where self is overwritten.
bool keeps_index(const Operand& src, bool accumulate) {
  return !accumulate || needs_graph(src.tensor());
}

// The record of what is added to self where nothing of it is kept.
void pass_gradient(BackwardCall& b) {
  b.results[0] = b.grad();
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
        if (b.wants(1))
          b.results[1] = b.flat_in_inputs(zeros(sizes, b.grad().dtype(), b.grad().device()));
      });
}

const Tensor& scatter_into(const char* name, const char* node_name, const Tensor& self, int64_t dim,
                           const Tensor& index, const Operand& src, bool accumulate) {
  const int d = wrap_dim(dim, self.ndim());
  const Tensor* source = src.is_number() ? nullptr : &src.tensor();
  DT_CHECK(!source || source->dtype() == self.dtype(), kRuntimeError, name,
           "(): Expected self.dtype to be equal to src.dtype");
  const Tensor positions = at_least_1d(index_operand(index, name));
  if (positions.numel() == 0) {
    scatter_nothing(node_name, self, index, src, accumulate);
    return self;
  }
  check_scatter(self, d, index, source);
  if (source)
    check_apart(self, *source);
  else
    check_fits(src.number(), self.dtype());
  check_apart(self, index);
  const Operand part = source ? Operand(reached_part(*source, positions)) : src;
  scatter_in_place(node_name, at_least_1d(self), d, positions, part, accumulate);
  return self;
}

}  // namespace

Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index) {
  const int d = wrap_dim(dim, input.ndim());
  DT_CHECK(index.ndim() <= 1, kIndexError, "index_select(): Index is supposed to be a vector");
  DT_CHECK(is_index(index.dtype()), kRuntimeError,
           "index_select(): Expected dtype int32 or int64 for index");
  if (input.ndim() == 0) {
    DT_CHECK(index.numel() == 1, kRuntimeError,
             "index_select(): Index to scalar can have only 1 value, got ", index.numel(),
             " value(s)");
    return unsafe_view(index_select(reshape(input, {1}), 0, index), {});
  }
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

const Tensor& index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                         const Scalar& alpha) {
  const int d = wrap_dim(dim, self.ndim());
  check_index_add(self, d, index, source);
  check_apart(self, index);
  check_apart(self, source);
  const Tensor positions = at_least_1d(to_dtype(index, kIndexDType));
  const Tensor target = at_least_1d(self), slices = at_least_1d(source);
  const double factor = alpha.to_double();
  const auto write = [&] {
    const bool overlaps = slices.storage().get() == target.storage().get();
    const Tensor read = overlaps ? without_record(slices) : slices;
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

Tensor gather(const Tensor& input, int64_t dim, const Tensor& index, bool sparse_grad) {
  DT_CHECK(!sparse_grad, kNotImplemented, "sparse_grad must be false: there are no sparse tensors");
  const int d = wrap_dim(dim, input.ndim());
  if (index.numel() == 0) return gather_nothing(input, index.sizes());
  const Tensor positions = at_least_1d(index_operand(index, "gather"));
  DT_CHECK(same_rank(input, index), kRuntimeError,
           "Index tensor must have the same number of dimensions as input tensor");
  const int wrong = oversized_dim(input, d, index);
  DT_CHECK(wrong < 0, kRuntimeError, "Size does not match at dimension ", wrong, " expected index ",
           index.sizes(), " to be no larger than self ", input.sizes(), " apart from dimension ",
           d);
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
  DT_CHECK(input.dtype() == kIndexDType, kRuntimeError,
           "one_hot is only applicable to index tensor of type LongTensor.");
  DT_CHECK(num_classes >= -1, kRuntimeError, "num_classes should be positive");
  if (input.numel() == 0) {
    DT_CHECK(num_classes > 0, kRuntimeError,
             "Can not infer total number of classes from empty tensor.");
  } else {
    const int64_t largest = item(max(input)).to_int64();
    DT_CHECK(item(min(input)).to_int64() >= 0, kRuntimeError, "Class values must be non-negative.");
    if (num_classes == -1) num_classes = largest + 1;
    DT_CHECK(largest < num_classes, kRuntimeError,
             "Class values must be smaller than num_classes.");
  }
  Dims sizes = input.sizes();
  sizes.push_back(num_classes);
  const Tensor y = zeros(sizes, kIndexDType, input.device());
  scatter_(y, -1, unsqueeze(input, -1), 1);
  return y;
}

}  // namespace dt
