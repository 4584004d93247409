// Ops that lay several copies of elements side by side: cat, stack, repeat, flip.
#include <string.h>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/views/checks.h"

namespace dt {
namespace {

const Tensor& shape_model(TensorList tensors) {
  for (const Tensor& x : tensors) {
    if (!joins_anything(x)) return x;
  }
  return tensors[0];
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

// Copies x to y's `length` places from `start` on along dimension d, if it is so small that a call
// of the kernel would take longer, and lies in memory in the order in which it lies in y.
bool copy_small(const Tensor& y, int d, int64_t start, int64_t length, const Tensor& x) {
  constexpr int64_t kSmall = 1 << 16, kShortRow = 64;
  const int64_t bytes = x.numel() * x.item_bytes();
  if (bytes == 0 || bytes > kSmall || x.device() != kCpu || x.dtype() != y.dtype() ||
      !x.is_contiguous() || !y.is_contiguous())
    return false;
  const int64_t rows = count_elements({y.sizes().data(), d}), row = bytes / rows;
  if (rows > 1 && row < kShortRow) return false;
  const int64_t apart = y.numel() / rows * y.item_bytes();
  char* to = static_cast<char*>(y.data()) + start * (row / length);
  const char* from = static_cast<const char*>(x.data());
  // A memmove is a call; of a memcpy -Os makes string instructions, which are slow to begin.
  for (int64_t i = 0; i < rows; ++i, to += apart, from += row)
    memmove(to, from, static_cast<size_t>(row));
  return true;
}

// What stack gives, without a view of each tensor, if all are copied as above and there is nothing
// to record; else undefined.
Tensor stack_small(TensorList tensors, int d) {
  const Tensor& model = tensors[0];
  if (model.device() != kCpu || needs_graph(tensors) || is_channels_last(unsqueeze(model, d)))
    return Tensor();
  Dims sizes = model.sizes();
  sizes.insert(d, tensors.size());
  const Tensor y = make_empty(sizes, model.dtype(), model.device());
  for (int64_t i = 0; i < tensors.size(); ++i) {
    if (!copy_small(y, d, i, 1, tensors[i])) return Tensor();
  }
  return y;
}

}  // namespace

Tensor cat(TensorList tensors, int64_t dim) {
  check_cat(tensors);
  const Tensor& model = shape_model(tensors);
  // Where nothing is joined, PyTorch looks at no dimension.
  const int d = joins_anything(model) ? 0 : wrap_dim(dim, model.ndim());
  check_cat_sizes(tensors, model, d);
  DType dtype = DType::kDefault;
  Dims sizes = model.sizes();
  sizes[d] = 0;
  std::vector<int64_t> lengths;
  for (const Tensor& x : tensors) {
    dtype = promote_types(dtype, x.dtype());
    lengths.push_back(joins_anything(x) ? kFitsAll : x.sizes()[d]);
    if (lengths.back() != kFitsAll) sizes[d] += lengths.back();
  }
  const Tensor y = make_empty_strided(sizes, joined_strides(tensors, sizes), dtype, model.device());
  {
    const GradMode no_grad(false);
    int64_t start = 0;
    std::vector<Copied> larger;
    for (int64_t i = 0; i < tensors.size(); ++i) {
      if (lengths[i] <= 0) continue;
      if (!copy_small(y, d, start, lengths[i], tensors[i]))
        larger.push_back({slice(y, d, start, start + lengths[i], 1), tensors[i]});
      start += lengths[i];
    }
    copy_each(larger);
  }
  if (needs_graph(tensors))
    attach(Ref<Node>::adopt(new CatNode(d, std::move(lengths))), {y}, tensors);
  return y;
}

Tensor stack(TensorList tensors, int64_t dim) {
  check_stack(tensors, dim);
  const int d = wrap_dim(dim, tensors[0].ndim() + 1);
  const Tensor small = stack_small(tensors, d);
  if (small.defined()) return small;
  std::vector<Tensor> rows;
  for (const Tensor& x : tensors) rows.push_back(unsqueeze(x, d));
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
  check_repeat(input, repeats);
  if (2 * n <= DT_MAX_DIMS) return repeat_interleaved(input, repeats);
  // Too many for pairs: the last dimensions first, then the others.
  Dims first(repeats), last(repeats);
  for (int d = 0; d < n; ++d) (d < n / 2 ? last : first)[d] = 1;
  return repeat_interleaved(repeat_interleaved(input, last), first);
}

Tensor flip(const Tensor& input, IntList dims) {
  check_flip(dims, input.ndim());
  const Tensor y = empty_like(input, DType::kDefault, {}, false, MemoryFormat::kPreserve);
  if (y.numel() > 0) {
    Dims strides = input.strides();
    int64_t offset = input.offset();
    for (int64_t dim : dims) {
      const int d = wrap_dim(dim, input.ndim());
      if (d == input.ndim()) continue;  // a number's, which it does not have
      offset += (input.sizes()[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
    copy_elements(y, make_alias(input, input.sizes(), strides, offset));
  }
  return record("FlipBackward0", y, {input},
                [d = Dims(dims)](BackwardCall& b) { b.results[0] = flip(b.grad(), d); });
}

}  // namespace dt
