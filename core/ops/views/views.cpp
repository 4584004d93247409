// Views: other looks at the same memory. Sizes and strides are found here; recording is
// make_view's.
#include "core/autograd/view.h"

#include <algorithm>
#include <optional>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/views.gen.h"
#include "core/ops/views/checks.h"

namespace dt {
namespace {

// Replaces the one -1 in a shape by what the number of elements says.
Dims infer_sizes(IntList shape, int64_t numel) {
  Dims sizes(shape);
  check_shape(shape, numel);
  int unknown = -1;
  int64_t known = 1;
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1)
      unknown = d;
    else
      known *= sizes[d];
  }
  if (unknown >= 0) sizes[unknown] = numel / known;
  return sizes;
}

// Strides that show x's elements under other sizes, if any do: dimensions are taken from the last;
// a run of old dimensions that is one walk through memory may be cut up anew.
std::optional<Dims> view_strides(const Tensor& x, const Dims& sizes) {
  if (x.numel() == 0 && x.sizes() == sizes) return x.strides();
  if (x.numel() == 0 || x.ndim() == 0) return contiguous_strides(sizes);
  Dims strides(sizes.size(), 1);
  int next = sizes.size() - 1;  // the new dimension to be placed
  int64_t run = 1, placed = 1, stride = 1;
  bool run_started = false;
  for (int d = x.ndim() - 1; d >= 0; --d) {
    if (!run_started) {
      stride = x.strides()[d];
      run = placed = 1;
      run_started = true;
    }
    run *= x.sizes()[d];
    const bool walk_ends = d == 0 || (x.sizes()[d - 1] != 1 && x.strides()[d - 1] != run * stride);
    if (!walk_ends) continue;
    while (next >= 0 && (placed < run || sizes[next] == 1)) {
      strides[next] = placed * stride;
      placed *= sizes[next];
      --next;
    }
    if (placed != run) return std::nullopt;
    run_started = false;
  }
  return next < 0 ? std::optional<Dims>(strides) : std::nullopt;
}

ViewRecipe reshape_recipe(const Dims& sizes) {
  ViewRecipe r;
  r.kind = ViewRecipe::kReshape;
  r.dims = sizes;
  return r;
}

Tensor view_as_sizes(const char* node, const Tensor& x, const Dims& sizes, const Dims& strides) {
  return make_view(node, x, sizes, strides, x.offset(), reshape_recipe(sizes));
}

Tensor permute_to(const char* node, const Tensor& x, const Dims& order) {
  ViewRecipe r;
  r.kind = ViewRecipe::kPermute;
  r.dims = order;
  Dims sizes(x.ndim(), 0), strides(x.ndim(), 0);
  for (int d = 0; d < x.ndim(); ++d) {
    sizes[d] = x.sizes()[static_cast<int>(order[d])];
    strides[d] = x.strides()[static_cast<int>(order[d])];
  }
  return make_view(node, x, sizes, strides, x.offset(), r);
}

}  // namespace

Tensor view(const Tensor& input, IntList size) {
  const Dims sizes = infer_sizes(size, input.numel());
  const auto strides = view_strides(input, sizes);
  check_view(strides.has_value());
  return view_as_sizes("ViewBackward0", input, sizes, *strides);
}

Tensor view_as(const Tensor& input, const Tensor& other) {
  return view(input, other.sizes());
}

Tensor reshape(const Tensor& input, IntList shape) {
  const Dims sizes = infer_sizes(shape, input.numel());
  if (const auto strides = view_strides(input, sizes))
    return view_as_sizes("ViewBackward0", input, sizes, *strides);
  return unsafe_view(clone(input, MemoryFormat::kContiguous), sizes);
}

Tensor unsafe_view(const Tensor& fresh, const Dims& sizes) {
  const bool same = sizes == fresh.sizes();  // also where a dimension of size 1 has any stride
  const auto strides = same ? fresh.strides() : view_strides(fresh, sizes);
  if (!strides) return unsafe_view(clone(fresh, MemoryFormat::kContiguous), sizes);
  const Tensor y = make_alias(fresh, sizes, *strides, fresh.offset());
  return record("UnsafeViewBackward0", y, {fresh}, [sizes = fresh.sizes()](BackwardCall& b) {
    b.results[0] = reshape(b.grad(), sizes);
  });
}

Tensor reshape_as(const Tensor& input, const Tensor& other) {
  return reshape(input, other.sizes());
}

Tensor flatten(const Tensor& input, int64_t start_dim, int64_t end_dim) {
  const int first = wrap_dim(start_dim, input.ndim()), last = wrap_dim(end_dim, input.ndim());
  check_flatten(first, last);
  if (input.ndim() == 0) return reshape(input, {1});
  if (first == last) return input;
  Dims sizes;
  int64_t joined = 1;
  for (int d = 0; d < input.ndim(); ++d) {
    if (d >= first && d <= last) joined *= input.sizes()[d];
    if (d < first || d > last) sizes.push_back(input.sizes()[d]);
    if (d == last) sizes.push_back(joined);
  }
  return reshape(input, sizes);
}

Tensor unflatten(const Tensor& input, int64_t dim, IntList sizes) {
  const int d = wrap_dim(dim, input.ndim());
  check_unflatten(input, dim, sizes);
  const Dims parts = infer_sizes(sizes, input.size(d));
  Dims shape = input.sizes();
  shape[d] = parts[0];
  for (int i = 1; i < parts.size(); ++i) shape.insert(d + i, parts[i]);
  return view(input, shape);
}

Tensor permute(const Tensor& input, IntList dims) {
  check_permute(dims, input.ndim());
  Dims order;
  for (int64_t dim : dims) order.push_back(wrap_dim(dim, input.ndim()));
  return permute_to("PermuteBackward0", input, order);
}

Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1) {
  const int a = wrap_dim(dim0, input.ndim()), b = wrap_dim(dim1, input.ndim());
  Dims order;
  for (int d = 0; d < input.ndim(); ++d) order.push_back(d == a ? b : d == b ? a : d);
  return permute_to("TransposeBackward0", input, order);
}

Tensor movedim(const Tensor& input, IntList source, IntList destination) {
  const int n = input.ndim();
  check_movedim(source, destination, n);
  Dims order(std::max(n, 1), -1);  // a number has one that may be named
  bool taken[DT_MAX_DIMS] = {};
  for (int64_t i = 0; i < source.size(); ++i) {
    const int from = wrap_dim(source[i], n);
    taken[from] = true;
    order[wrap_dim(destination[i], n)] = from;
  }
  int next = 0;
  for (int d = 0; d < n; ++d) {
    if (order[d] >= 0) continue;
    while (taken[next]) ++next;
    order[d] = next++;
  }
  return permute_to("PermuteBackward0", input, n > 0 ? order : Dims());
}

Tensor t(const Tensor& input) {
  check_t(input);
  return input.ndim() < 2 ? permute_to("TBackward0", input, input.ndim() ? Dims{0} : Dims{})
                          : permute_to("TBackward0", input, {1, 0});
}

Tensor squeeze(const Tensor& input, std::optional<IntList> dim) {
  bool candidate[DT_MAX_DIMS] = {};
  if (dim) {
    for (int64_t d : *dim) {
      const int named = wrap_dim(d, input.ndim());
      check_named_once(candidate[named], named);
      candidate[named] = true;
    }
  }
  Dims sizes, strides;
  for (int d = 0; d < input.ndim(); ++d) {
    if (input.sizes()[d] == 1 && (!dim || candidate[d])) continue;
    sizes.push_back(input.sizes()[d]);
    strides.push_back(input.strides()[d]);
  }
  return view_as_sizes("SqueezeBackward0", input, sizes, strides);
}

Tensor unsqueeze(const Tensor& input, int64_t dim) {
  const int d = wrap_dim(dim, input.ndim() + 1);
  Dims sizes = input.sizes(), strides = input.strides();
  const int64_t stride = d < input.ndim() ? sizes[d] * strides[d] : 1;
  sizes.insert(d, 1);
  strides.insert(d, stride);
  return view_as_sizes("UnsqueezeBackward0", input, sizes, strides);
}

Tensor expand(const Tensor& input, IntList size) {
  check_expand(input, size);
  const int lead = static_cast<int>(size.size()) - input.ndim();
  Dims sizes(size), strides(sizes.size(), 0);
  for (int d = sizes.size() - 1; d >= 0; --d) {
    const int64_t from = d < lead ? 1 : input.sizes()[d - lead];
    if (sizes[d] == -1) sizes[d] = from;
    if (from != sizes[d] || input.ndim() == 0) continue;
    strides[d] = d < lead ? sizes[d + 1] * strides[d + 1] : input.strides()[d - lead];
  }
  count_elements(sizes);  // refuses more than an int64 can count
  ViewRecipe r;
  r.kind = ViewRecipe::kExpand;
  r.dims = sizes;
  return make_view("ExpandBackward0", input, sizes, strides, input.offset(), r);
}

Tensor expand_as(const Tensor& input, const Tensor& other) {
  return expand(input, other.sizes());
}
Tensor broadcast_to(const Tensor& input, IntList size) {
  return expand(input, size);
}

Tensor select(const Tensor& input, int64_t dim, int64_t index) {
  check_select(input, dim, index);
  const int d = wrap_dim(dim, input.ndim());
  const int64_t n = input.sizes()[d];
  ViewRecipe r;
  r.kind = ViewRecipe::kSelect;
  r.dim = d;
  r.start = index < 0 ? index + n : index;
  Dims sizes = input.sizes(), strides = input.strides();
  const int64_t offset = input.offset() + r.start * strides[d];
  sizes.erase(d);
  strides.erase(d);
  return make_view("SelectBackward0", input, sizes, strides, offset, r);
}

Tensor slice(const Tensor& input, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step) {
  check_slice(input, step);
  const int d = wrap_dim(dim, input.ndim());
  const int64_t n = input.sizes()[d];
  const auto clip = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t first = clip(start.value_or(0)), last = std::max(first, clip(end.value_or(n)));
  ViewRecipe r;
  r.kind = ViewRecipe::kSlice;
  r.dim = d;
  r.start = first;
  r.step = step;
  const int64_t length =
      last == first ? 0 : (last - first - 1) / step + 1;  // no overflow for a huge step
  r.dims = {length};
  Dims sizes = input.sizes(), strides = input.strides();
  const int64_t offset = input.offset() + first * strides[d];
  sizes[d] = length;
  int64_t stride;
  if (!__builtin_mul_overflow(strides[d], step, &stride)) strides[d] = stride;
  return make_view("SliceBackward0", input, sizes, strides, offset, r);
}

Tensor narrow(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  check_narrow(input, dim, start, length);
  if (start < 0) start += input.size(dim);
  return slice(input, dim, start, start + length, 1);
}

Tensor as_strided(const Tensor& input, IntList size, IntList stride,
                  std::optional<int64_t> storage_offset) {
  const int64_t start = storage_offset.value_or(input.offset());
  check_as_strided(input, size, stride, start);
  ViewRecipe r;
  r.kind = ViewRecipe::kAsStrided;
  r.dims = size;
  r.strides = stride;
  r.start = start;
  r.source_strides = input.strides();
  r.source_start = input.offset();
  return make_view("AsStridedBackward0", input, size, stride, start, r);
}

Tensor diagonal(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  const int a = wrap_dim(dim1, input.ndim()), b = wrap_dim(dim2, input.ndim());
  check_diagonal_dims(a == b, dim1, dim2);
  const int64_t rows = input.sizes()[a], columns = input.sizes()[b];
  const int64_t length = std::max<int64_t>(
      0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  Dims sizes, strides;
  for (int d = 0; d < input.ndim(); ++d) {
    if (d == a || d == b) continue;
    sizes.push_back(input.sizes()[d]);
    strides.push_back(input.strides()[d]);
  }
  const int64_t first = length == 0   ? 0
                        : offset >= 0 ? offset * input.strides()[b]
                                      : -offset * input.strides()[a];
  sizes.push_back(length);
  strides.push_back(input.strides()[a] + input.strides()[b]);
  ViewRecipe r;
  r.kind = ViewRecipe::kDiagonal;
  r.dim = a;
  r.dim2 = b;
  r.start = offset;
  return make_view("DiagonalBackward0", input, sizes, strides, input.offset() + first, r);
}

Tensor unfold(const Tensor& input, int64_t dimension, int64_t size, int64_t step) {
  const int d = wrap_dim(dimension, input.ndim());
  check_unfold(input, d, size, step);
  if (input.ndim() == 0) return slice(reshape(input, {1}), 0, 0, size, 1);
  ViewRecipe r;
  r.kind = ViewRecipe::kUnfold;
  r.dim = d;
  r.start = size;
  r.step = step;
  Dims sizes = input.sizes(), strides = input.strides();
  sizes.push_back(size);
  strides.push_back(strides[d]);
  sizes[d] = (input.sizes()[d] - size) / step + 1;
  int64_t stride;
  if (!__builtin_mul_overflow(strides[d], step, &stride)) strides[d] = stride;
  return make_view("UnfoldBackward0", input, sizes, strides, input.offset(), r);
}

Tensor view_dtype(const Tensor& input, DType dtype) {
  check_view_dtype(input, dtype);
  const int64_t from = input.item_bytes(), to = info(dtype).bytes;
  const auto counted = [&](int64_t n) { return n * from / to; };
  Dims sizes = input.sizes(), strides = input.strides();
  if (from != to) {
    for (int d = 0; d < sizes.size() - 1; ++d) strides[d] = counted(strides[d]);
    sizes[sizes.size() - 1] = counted(sizes.back());
  }
  const Tensor y(Ref<TensorImpl>::adopt(
      new TensorImpl(input.storage(), counted(input.offset()), sizes, strides, dtype)));
  y.impl()->own_version = input.impl()->own_version;
  return y;
}

}  // namespace dt
