// Advanced indexing: reading and writing at positions that tensors name.
#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

bool is_mask(const Tensor& index) {
  return is_mask(index.dtype());
}

// base[index[0], index[1], ...]: one int64 tensor per dimension of the base; an undefined one
// takes the whole dimension.
struct Selection {
  Tensor base;
  std::vector<Tensor> index;
};

void check_mask(const Tensor& mask, const Tensor& base, int dim) {
  for (int d = 0; d < mask.ndim(); ++d) {
    const bool fits = dim + d < base.ndim() && mask.sizes()[d] == base.sizes()[dim + d];
    DT_CHECK(fits, kIndexError, "The shape of the mask ", mask.sizes(), " at index ", d,
             " does not match the shape of the indexed tensor ", base.sizes(), " at index ",
             dim + d);
  }
}

// A mask stands for the coordinates of its true elements, one index per dimension of the mask. A
// 0-d mask chooses all or nothing: it indexes a new dimension of size 1.
void add_mask(Selection* s, const Tensor& mask) {
  const int dim = static_cast<int>(s->index.size());
  if (mask.ndim() == 0) {
    s->base = unsqueeze(s->base, dim);
    s->index.push_back(select(nonzero(reshape(mask, {1})), 1, 0));
    return;
  }
  check_mask(mask, s->base, dim);
  for (const Tensor& coordinate : unbind(nonzero(mask), 1)) s->index.push_back(coordinate);
}

// Indices may lie on the CPU whatever they index.
Tensor beside(const Tensor& index, const Tensor& input) {
  if (!index.defined() || index.device() != kCpu || input.device() == kCpu) return index;
  return to(index, input.device());
}

Selection select_positions(const Tensor& input, TensorList indices) {
  Selection s{input, {}};
  for (const Tensor& given : indices) {
    if (given.defined()) {
      DT_CHECK(is_index(given.dtype()) || is_mask(given), kIndexError,
               "tensors used as indices must be long, int, byte or bool tensors");
    }
    const Tensor index = beside(given, input);
    if (index.defined() && is_mask(index)) {
      add_mask(&s, index);
    } else {
      s.index.push_back(index.defined() ? to_dtype(index, kIndexDType) : index);
    }
    DT_CHECK(static_cast<int>(s.index.size()) <= s.base.ndim(), kIndexError,
             "too many indices for tensor of dimension ", input.ndim());
  }
  s.index.resize(s.base.ndim());
  return s;
}

// The shape that all indices broadcast to.
Dims broadcast_indices(const std::vector<Tensor>& index) {
  Dims sizes;
  std::string shapes;
  bool fits = true;
  for (const Tensor& i : index) {
    if (!i.defined()) continue;
    append(shapes, shapes.empty() ? "" : ", ");
    append(shapes, i.sizes());
    if (!fits) continue;
    for (int d = 1; d <= std::min(sizes.size(), i.ndim()); ++d) {
      const int64_t a = sizes[sizes.size() - d], b = i.sizes()[i.ndim() - d];
      fits = fits && (a == b || a == 1 || b == 1);
    }
    if (fits) sizes = broadcast_sizes(sizes, i.sizes());
  }
  DT_CHECK(fits, kIndexError,
           "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
  return sizes;
}

// What the kernels index and index_put need: everything in the shape of the result. There the
// indices' common dimensions stand where the indexed dimensions stood, or in front if these were
// not neighbours.
struct Plan {
  Dims sizes;
  View base;  // walks the base with stride 0 in the indices' dimensions
  std::vector<View> index;
  std::vector<int64_t> indexed_sizes, indexed_strides;  // of the dimensions that are indexed

  explicit Plan(const Selection& s);
  int64_t count() const { return static_cast<int64_t>(index.size()); }

  // Of a call of either kernel.
  template <class Call>
  void set_indices(Call& call) const {
    for (int64_t k = 0; k < count(); ++k) call.index[k] = index[static_cast<size_t>(k)];
    call.size = indexed_sizes;
    call.stride = indexed_strides;
  }
};

// Where the indices' dimensions go in the result.
int index_position(const std::vector<Tensor>& index) {
  int first = -1, last = -1, count = 0;
  for (int d = 0; d < static_cast<int>(index.size()); ++d) {
    if (!index[d].defined()) continue;
    if (first < 0) first = d;
    last = d;
    ++count;
  }
  return last - first + 1 == count ? first : 0;
}

Plan::Plan(const Selection& s) {
  const Dims common = broadcast_indices(s.index);
  const int at = index_position(s.index);
  Dims strides;
  for (int d = 0; d < s.base.ndim(); ++d) {
    if (s.index[d].defined()) {
      indexed_sizes.push_back(s.base.sizes()[d]);
      indexed_strides.push_back(s.base.strides()[d]);
    } else {
      sizes.push_back(s.base.sizes()[d]);
      strides.push_back(s.base.strides()[d]);
    }
  }
  for (int d = 0; d < common.size(); ++d) {
    sizes.insert(at + d, common[d]);
    strides.insert(at + d, 0);
  }
  base = View(s.base, sizes, strides, s.base.offset());
  for (const Tensor& i : s.index) {
    if (!i.defined()) continue;
    const Dims walk = broadcast_strides(i.sizes(), i.strides(), common);
    Dims index_strides(sizes.size(), 0);
    for (int d = 0; d < common.size(); ++d) index_strides[at + d] = walk[d];
    index.push_back(View(i, sizes, index_strides, i.offset()));
  }
}

// Which index a kernel found out of range, as PyTorch says it: the first one in row-major order,
// with its place among the indices. Returns if there is none: somebody else is writing to them.
void report_range(const Selection& s) {
  const GradMode off(false);
  const Dims common = broadcast_indices(s.index);
  int64_t first = INT64_MAX, index = 0, size = 0;
  int place = 0, dim = 0;
  for (int d = 0; d < s.base.ndim(); ++d) {
    if (!s.index[d].defined()) continue;
    const int64_t n = s.base.sizes()[d];
    const Tensor flat = reshape(expand(s.index[d], common), {-1});
    const Tensor bad = nonzero(logical_or(ge(flat, n), lt(flat, -n)));
    const int64_t at = bad.size(0) ? item(select(bad, 0, 0)).to_int64() : INT64_MAX;
    if (at < first) {
      first = at;
      index = item(select(flat, 0, at)).to_int64();
      size = n;
      dim = place;
    }
    ++place;
  }
  DT_CHECK(first == INT64_MAX || size > 0, kIndexError,
           "index is out of bounds for dimension with size 0");
  DT_CHECK(first == INT64_MAX, kIndexError, "index ", index, " is out of bounds for dimension ",
           dim, " with size ", size);
}

template <class Launch>
void with_named_range(const Selection& s, Launch launch) {
  try {
    launch();
  } catch (const Error& error) {
    if (error.code() == Code::kIndexError) report_range(s);
    throw;
  }
}

std::vector<Saved> save_all(const std::vector<Tensor>& index) {
  std::vector<Saved> saved;
  for (const Tensor& i : index) saved.push_back(Saved::input(i));
  return saved;
}

std::vector<Tensor> restore_all(const std::vector<Saved>& saved, Node* node) {
  std::vector<Tensor> index;
  for (const Saved& s : saved) index.push_back(s.get(node));
  return index;
}

bool chooses_all(const Selection& s) {
  for (const Tensor& i : s.index) {
    if (i.defined()) return false;
  }
  return true;
}

void check_values(const Tensor& self, const Tensor& values, const Dims& sizes) {
  DT_CHECK(self.dtype() == values.dtype(), kRuntimeError,
           "Index put requires the source and destination dtypes match, got ",
           type_word(self.dtype()), " for the destination and ", type_word(values.dtype()),
           " for the source.");
  bool fits = values.ndim() <= sizes.size();
  for (int d = 1; fits && d <= values.ndim(); ++d) {
    const int64_t n = values.sizes()[values.ndim() - d];
    fits = n == 1 || n == sizes[sizes.size() - d];
  }
  DT_CHECK(fits, kRuntimeError, "shape mismatch: value tensor of shape ", values.sizes(),
           " cannot be broadcast to indexing result of shape ", sizes);
}

// Writes values into y, which is shaped like the selection's base, without a record.
void write_positions(const Selection& s, const Tensor& values, bool accumulate) {
  const Plan plan(s);
  check_values(s.base, values, plan.sizes);
  Tensor source = values;
  if (values.storage().get() == s.base.storage().get()) {
    const GradMode no_grad(false);
    source = clone(values);
  }
  const Dims strides = broadcast_strides(source.sizes(), source.strides(), plan.sizes);
  IndexPutCall call(plan.count());
  call.y = plan.base;
  call.values = View(source, plan.sizes, strides, source.offset());
  call.accumulate = accumulate;
  plan.set_indices(call);
  with_named_range(s, [&] { run(op::index_put, call); });
}

// self[mask] = number needs no list of positions: it is a masked fill.
bool fills_by_mask(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  if (accumulate || values.numel() != 1) return false;
  const Tensor* mask = nullptr;
  int dim = 0, at = 0;
  for (const Tensor& i : indices) {
    if (i.defined()) {
      if (mask || !is_mask(i)) return false;
      mask = &i;
      at = dim;
    }
    ++dim;
  }
  if (!mask || at + mask->ndim() > self.ndim()) return false;
  check_mask(*mask, self, at);
  Dims sizes = mask->sizes();
  while (at + sizes.size() < self.ndim()) sizes.push_back(1);
  const Tensor chosen = to_dtype(beside(*mask, self), kMaskDType);
  masked_fill_(self, reshape(chosen, sizes), reshape(values, {}));
  return true;
}

}  // namespace

Tensor index(const Tensor& input, TensorList indices) {
  const Selection s = select_positions(input, indices);
  if (chooses_all(s)) return clone(input);
  const Plan plan(s);
  const Tensor y = make_empty(plan.sizes, input.dtype(), input.device());
  IndexCall call(plan.count());
  call.y = y;
  call.x = plan.base;
  plan.set_indices(call);
  with_named_range(s, [&] { run(op::index, call); });
  if (!needs_graph(s.base)) return y;
  return record("IndexBackward0", y, {s.base},
                [saved = save_all(s.index), sizes = s.base.sizes()](BackwardCall& b) {
                  const Tensor& g = b.grad();
                  const std::vector<Tensor> positions = restore_all(saved, b.node);
                  b.results[0] = index_put(zeros(sizes, g.dtype(), g.device()), positions, g, true);
                });
}

const Tensor& index_put_(const Tensor& self, TensorList indices, const Tensor& values,
                         bool accumulate) {
  if (fills_by_mask(self, indices, values, accumulate)) return self;
  check_apart(self, values);
  for (const Tensor& i : indices) {
    if (i.defined()) check_apart(self, i);
  }
  const Selection s = select_positions(self, indices);
  if (chooses_all(s)) return copy_(self, accumulate ? add(self, values) : values);
  inplace(
      "IndexPutBackward0", s.base, {s.base, values},
      [&] { write_positions(s, values, accumulate); },
      [saved = save_all(s.index), accumulate](BackwardCall& b) {
        const Tensor& g = b.grad();
        const std::vector<Tensor> positions = restore_all(saved, b.node);
        if (b.wants(0)) {
          const Tensor zero = full({}, 0, g.dtype(), g.device());
          b.results[0] = accumulate ? g : index_put(g, positions, zero);
        }
        if (b.wants(1)) b.results[1] = index(g, positions);
      });
  return self;
}

Tensor index_put(const Tensor& input, TensorList indices, const Tensor& values, bool accumulate) {
  const Tensor y = clone(input);
  index_put_(y, indices, values, accumulate);
  return y;
}

}  // namespace dt
