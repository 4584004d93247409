// Ops that lay several copies of elements side by side: cat, stack, repeat, flip.
#include <algorithm>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/creation.gen.h"

namespace dt {
namespace {

// PyTorch lets a 1-d tensor without elements join anything.
bool is_legacy_empty(const Tensor& x) {
  return x.ndim() == 1 && x.numel() == 0;
}

const Tensor& shape_model(TensorList tensors) {
  for (const Tensor& x : tensors) {
    if (!is_legacy_empty(x)) return x;
  }
  return tensors[0];
}

void check_joinable(const Tensor& first, const Tensor& x, int64_t number, int dim) {
  DT_CHECK(x.ndim() == first.ndim(), kRuntimeError,
           "Tensors must have same number of dimensions: got ", first.ndim(), " and ", x.ndim());
  for (int d = 0; d < x.ndim(); ++d) {
    DT_CHECK(d == dim || x.sizes()[d] == first.sizes()[d], kRuntimeError,
             "Sizes of tensors must match except in "
             "dimension ",
             dim, ". Expected size ", first.sizes()[d], " but got size ", x.sizes()[d],
             " for tensor number ", number, " in the list.");
  }
}

// Images that are all channels-last stay so.
Dims joined_strides(TensorList tensors, const Dims& sizes) {
  for (const Tensor& x : tensors) {
    if (!is_channels_last(x)) return contiguous_strides(sizes);
  }
  return channels_last_strides(sizes);
}

// The length of an empty list of numbers, which joins tensors of any shape.
constexpr int64_t kFitsAll = -1;

// The lengths are no tensors: unlike what FunctionNode captures, they stay for another backward.
class CatNode final : public Node {
 public:
  CatNode(int dim, std::vector<int64_t> lengths)
      : Node("CatBackward0"), dim_(dim), lengths_(std::move(lengths)) {}
  void backward(BackwardCall& call) override {
    int64_t start = 0;
    for (size_t i = 0; i < lengths_.size(); ++i) {
      const bool fits_all = lengths_[i] == kFitsAll;
      const int64_t end = fits_all ? start : start + lengths_[i];
      if (call.wants(static_cast<int>(i))) {
        const Tensor part = slice(call.grad(), dim_, start, end, 1);
        call.results[i] = fits_all ? reshape(part, {0}) : part;
      }
      start = end;
    }
  }
  void release_saved() override {}

 private:
  int dim_;
  std::vector<int64_t> lengths_;
};

}  // namespace

Tensor cat(TensorList tensors, int64_t dim) {
  DT_CHECK(!tensors.empty(), kValueError, "expected a non-empty list of Tensors");
  for (const Tensor& x : tensors) {
    DT_CHECK(x.ndim() > 0, kRuntimeError, "zero-dimensional tensor cannot be concatenated");
    check_same_device(tensors[0].device(), x.device());
  }
  const Tensor& model = shape_model(tensors);
  const int d = wrap_dim(dim, model.ndim());
  DType dtype = DType::kDefault;
  Dims sizes = model.sizes();
  sizes[d] = 0;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    dtype = promote_types(dtype, x.dtype());
    lengths.push_back(is_legacy_empty(x) ? kFitsAll : x.sizes()[d]);
    if (lengths.back() == kFitsAll) continue;
    check_joinable(model, x, i, d);
    DT_CHECK(!__builtin_add_overflow(sizes[d], lengths.back(), &sizes[d]), kRuntimeError,
             "the sizes in dimension ", d, " add up to more than an int64 can count");
  }
  const Tensor y = make_empty_strided(sizes, joined_strides(tensors, sizes), dtype, model.device());
  {
    const GradMode no_grad(false);
    int64_t start = 0;
    for (int64_t i = 0; i < tensors.size(); ++i) {
      if (lengths[i] <= 0) continue;
      copy_elements(slice(y, d, start, start + lengths[i], 1), tensors[i]);
      start += lengths[i];
    }
  }
  if (needs_graph(tensors))
    attach(Ref<Node>::adopt(new CatNode(d, std::move(lengths))), {y}, tensors);
  return y;
}

Tensor stack(TensorList tensors, int64_t dim) {
  DT_CHECK(!tensors.empty(), kRuntimeError, "stack expects a non-empty TensorList");
  const int d = wrap_dim(dim, tensors[0].ndim() + 1);
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < tensors.size(); ++i) {
    DT_CHECK(tensors[i].sizes() == tensors[0].sizes(), kRuntimeError,
             "stack expects each tensor to be equal size, but "
             "got ",
             tensors[0].sizes(), " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
    rows.push_back(unsqueeze(tensors[i], d));
  }
  return cat(rows, d);
}

namespace {

// Copies into [r0, s0, r1, s1, ...], whose dimensions merge in pairs: the input is broadcast along
// every r. There is no r for a dimension that is not repeated.
Tensor repeat_interleaved(const Tensor& input, IntList repeats) {
  const int n = static_cast<int>(repeats.size()), lead = n - input.ndim();
  Dims interleaved, wide, result;
  for (int d = 0; d < n; ++d) {
    const int64_t size = d < lead ? 1 : input.sizes()[d - lead];
    result.push_back(count_elements({repeats[d], size}));
    if (repeats[d] != 1) {
      interleaved.push_back(1);
      wide.push_back(repeats[d]);
    }
    interleaved.push_back(size);
    wide.push_back(size);
  }
  const Tensor x = expand(reshape(input, interleaved), wide);
  return unsafe_view(clone(x, MemoryFormat::kContiguous), result);
}

}  // namespace

Tensor repeat(const Tensor& input, IntList repeats) {
  const int n = static_cast<int>(repeats.size());
  DT_CHECK(n >= input.ndim(), kRuntimeError,
           "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
           "tensor");
  if (2 * n <= DT_MAX_DIMS) return repeat_interleaved(input, repeats);
  // Too many for pairs: the last dimensions first, then the others.
  Dims first(repeats), last(repeats);
  for (int d = 0; d < n; ++d) (d < n / 2 ? last : first)[d] = 1;
  return repeat_interleaved(repeat_interleaved(input, last), first);
}

Tensor flip(const Tensor& input, IntList dims) {
  bool flipped[DT_MAX_DIMS] = {};
  for (int64_t dim : dims) {
    const int d = wrap_dim(dim, input.ndim());
    DT_CHECK(!flipped[d], kRuntimeError, "dim ", d, " appears multiple times in the list of dims");
    flipped[d] = true;
  }
  const Tensor y = empty_like(input, DType::kDefault, {}, false, MemoryFormat::kPreserve);
  if (y.numel() > 0) {
    Dims strides = input.strides();
    int64_t offset = input.offset();
    for (int d = 0; d < input.ndim(); ++d) {
      if (!flipped[d]) continue;
      offset += (input.sizes()[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
    CopyCall call;
    call.y = y;
    call.x = View(input, input.sizes(), strides, offset);
    run(op::copy, call);
  }
  return record("FlipBackward0", y, {input},
                [d = Dims(dims)](BackwardCall& b) { b.results[0] = flip(b.grad(), d); });
}

}  // namespace dt
