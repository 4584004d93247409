// Advanced indexing: reading and writing at positions that tensors name.
#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/indexing.gen.h"
#include "core/ops/indexing/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/indexing.gen.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// base[index[0], index[1], ...]: one int64 tensor per dimension of the base; an undefined one
// takes the whole dimension.
struct Selection {
  Tensor base;
  std::vector<Tensor> index;
};

// A mask stands for the coordinates of its true elements, one index per dimension of the mask. A
// 0-d mask chooses all or nothing: it indexes a new dimension of size 1.
void add_mask(Selection* s, const Tensor& mask) {
  const int dim = static_cast<int>(s->index.size());
  if (mask.ndim() == 0) {
    s->base = unsqueeze(s->base, dim);
    s->index.push_back(select(nonzero(reshape(mask, {1})), 1, 0));
    return;
  }
  check_mask_shape(mask, s->base, dim);
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
    check_index_dtype(given);
    const Tensor index = beside(given, input);
    if (index.defined() && is_mask(index.dtype())) {
      add_mask(&s, index);
    } else {
      s.index.push_back(index.defined() ? to_dtype(index, kIndexDType) : index);
    }
    check_index_count(static_cast<int>(s.index.size()), s.base.ndim(), input.ndim());
  }
  s.index.resize(s.base.ndim());
  return s;
}

// The shape that all indices broadcast to.
Dims broadcast_indices(const std::vector<Tensor>& index) {
  check_indices_broadcast(index);
  Dims sizes;
  for (const Tensor& i : index) {
    if (i.defined()) sizes = broadcast_sizes(sizes, i.sizes());
  }
  return sizes;
}

// What the kernels index and index_put need: everything in the shape of the result. There the
// indices' common dimensions stand where the indexed dimensions stood, or in front if these were
// not neighbours.
struct IndexOperands {
  Dims sizes;
  View base;  // walks the base with stride 0 in the indices' dimensions
  std::vector<View> index;
  std::vector<int64_t> indexed_sizes, indexed_strides;  // of the dimensions that are indexed

  explicit IndexOperands(const Selection& s);
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

IndexOperands::IndexOperands(const Selection& s) {
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
    const Dims strides_there = broadcast_strides(i.sizes(), i.strides(), common);
    Dims index_strides(sizes.size(), 0);
    for (int d = 0; d < common.size(); ++d) index_strides[at + d] = strides_there[d];
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
  if (first != INT64_MAX) refuse_index(index, dim, size);
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

// Writes values into y, which is shaped like the selection's base, without a record.
void write_positions(const Selection& s, const Tensor& values, bool accumulate) {
  const IndexOperands operands(s);
  check_index_values(s.base, values, operands.sizes);
  Tensor source = values;
  if (values.storage().get() == s.base.storage().get()) {
    const GradMode no_grad(false);
    source = clone(values);
  }
  const Dims strides = broadcast_strides(source.sizes(), source.strides(), operands.sizes);
  IndexPutCall call(operands.count());
  call.y = operands.base;
  call.values = View(source, operands.sizes, strides, source.offset());
  call.accumulate = accumulate;
  operands.set_indices(call);
  with_named_range(s, [&] { run(op::index_put, call); });
}

// self[mask] = number needs no list of positions: it is a masked fill.
bool fills_by_mask(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  if (accumulate || values.numel() != 1) return false;
  const Tensor* mask = nullptr;
  int dim = 0, at = 0;
  for (const Tensor& i : indices) {
    if (i.defined()) {
      if (mask || !is_mask(i.dtype())) return false;
      mask = &i;
      at = dim;
    }
    ++dim;
  }
  if (!mask || at + mask->ndim() > self.ndim()) return false;
  check_mask_shape(*mask, self, at);
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
  const IndexOperands operands(s);
  const Tensor y = make_empty(operands.sizes, input.dtype(), input.device());
  IndexCall call(operands.count());
  call.y = y;
  call.x = operands.base;
  operands.set_indices(call);
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
