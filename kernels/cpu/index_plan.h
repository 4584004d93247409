// What index, index_put, index_select and index_add share: positions of a common shape, at which
// some operands are read or written directly and one through index tensors.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

// Index values select along one dimension of the indexed tensor.
struct Selector {
  const int64_t* data;
  int64_t size;  // of the dimension
  int64_t step;  // its stride in elements
  int64_t strides[DT_MAX_DIMS];

  // Negative values count from the end; they have been checked.
  int64_t offset(int64_t value) const { return (value < 0 ? value + size : value) * step; }
};

struct IndexPlan {
  int ndim = 0, selectors = 0;
  int64_t sizes[DT_MAX_DIMS];
  int64_t plain[DT_MAX_DIMS];    // strides of the operand that is not indexed
  int64_t indexed[DT_MAX_DIMS];  // strides of the indexed one, 0 where selectors choose
  Selector selector[DT_MAX_DIMS];

  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= sizes[d];
    return n;
  }
  // Whether no selector varies along d: a slice is moved as it is.
  bool is_slice(int d) const {
    for (int k = 0; k < selectors; ++k) {
      if (selector[k].strides[d] != 0) return false;
    }
    return true;
  }
};

// Drops dimensions of size 1 and merges neighbours that all operands walk as one. The logical order
// stays.
inline void simplify(IndexPlan* plan) {
  auto move = [&](int to, int from) {
    plan->sizes[to] = plan->sizes[from];
    plan->plain[to] = plan->plain[from];
    plan->indexed[to] = plan->indexed[from];
    for (int k = 0; k < plan->selectors; ++k)
      plan->selector[k].strides[to] = plan->selector[k].strides[from];
  };
  auto continues = [&](int outer, int inner) {
    const int64_t n = plan->sizes[inner];
    bool merges = plan->plain[outer] == plan->plain[inner] * n &&
                  plan->indexed[outer] == plan->indexed[inner] * n;
    for (int k = 0; k < plan->selectors; ++k) {
      merges = merges && plan->selector[k].strides[outer] == plan->selector[k].strides[inner] * n;
    }
    return merges;
  };
  int kept = 0;
  for (int d = 0; d < plan->ndim; ++d) {
    if (plan->sizes[d] == 1) continue;
    if (kept > 0 && continues(kept - 1, d)) {
      const int64_t n = plan->sizes[kept - 1] * plan->sizes[d];
      move(kept - 1, d);
      plan->sizes[kept - 1] = n;
    } else {
      move(kept++, d);
    }
  }
  if (kept == 0) {  // so that there is always an inner dimension
    plan->sizes[0] = 1;
    plan->plain[0] = plan->indexed[0] = 1;
    for (int k = 0; k < plan->selectors; ++k) plan->selector[k].strides[0] = 0;
    kept = 1;
  }
  plan->ndim = kept;
}

// The plan of index (plain = y, indexed = x) and index_put (plain = values, indexed = y), with the
// sizes and strides of the indexed dimensions.
inline IndexPlan plan_index(const dt_view& plain, const dt_view& indexed, const dt_view& shape,
                            const calls::Views& index, const int64_t* size, const int64_t* stride) {
  IndexPlan plan;
  plan.ndim = shape.ndim;
  plan.selectors = static_cast<int>(index.n);
  for (int d = 0; d < shape.ndim; ++d) {
    plan.sizes[d] = shape.sizes[d];
    plan.plain[d] = plain.strides[d];
    plan.indexed[d] = indexed.strides[d];
  }
  for (int k = 0; k < plan.selectors; ++k) {
    Selector& s = plan.selector[k];
    s.data = data<const int64_t>(index[k]);
    s.size = size[k];
    s.step = stride[k];
    for (int d = 0; d < shape.ndim; ++d) s.strides[d] = index[k].strides[d];
  }
  simplify(&plan);
  return plan;
}

// The plan of index_select (plain = y, indexed = x) and index_add (plain = source, indexed = y)
// along `dim`.
inline IndexPlan plan_select(const dt_view& plain, const dt_view& indexed, const dt_view& index,
                             int64_t dim) {
  dt_view along = indexed;
  dt_view selector = plain;
  const int64_t size = indexed.ndim == 0 ? 1 : indexed.sizes[dim],
                stride = indexed.ndim == 0 ? 0 : indexed.strides[dim];
  for (int d = 0; d < plain.ndim; ++d) selector.strides[d] = 0;
  if (plain.ndim > 0) {
    along.strides[dim] = 0;
    selector.strides[dim] = index.ndim == 0 ? 0 : index.strides[0];
  }
  selector.data = index.data;
  return plan_index(plain, along, plain, {&selector, 1}, &size, &stride);
}

// Checks that the values of an index operand are in [lowest, size). Repeated values are looked at
// once.
inline bool check_index(const dt_stream* stream, const dt_view& index, int64_t lowest,
                        int64_t size) {
  int64_t sizes[DT_MAX_DIMS], strides[DT_MAX_DIMS], at[DT_MAX_DIMS] = {}, lines = 1;
  int n = 0;
  for (int d = 0; d < index.ndim; ++d) {
    if (index.sizes[d] == 0) return true;
    if (index.sizes[d] == 1 || index.strides[d] == 0) continue;
    if (n > 0 && strides[n - 1] == index.strides[d] * index.sizes[d]) {
      sizes[n - 1] *= index.sizes[d];
      strides[n - 1] = index.strides[d];
    } else {
      sizes[n] = index.sizes[d];
      strides[n++] = index.strides[d];
    }
  }
  if (n == 0) sizes[0] = 1, strides[0] = 1, n = 1;
  const int64_t run = sizes[n - 1], stride = strides[n - 1];
  for (int d = 0; d < n - 1; ++d) lines *= sizes[d];
  const int64_t* line = data<const int64_t>(index);
  for (int64_t i = 0; i < lines; ++i) {
    bool is_bad = false;
    for (int64_t j = 0; j < run; ++j)
      is_bad |= (line[j * stride] < lowest) | (line[j * stride] >= size);
    for (int64_t j = 0; is_bad && j < run; ++j) {
      if (line[j * stride] >= lowest && line[j * stride] < size) continue;
      stream->fault->index = line[j * stride];
      stream->fault->size = size;
      return false;
    }
    for (int d = n - 2; d >= 0; --d) {
      line += strides[d];
      if (++at[d] < sizes[d]) break;
      line -= strides[d] * sizes[d];
      at[d] = 0;
    }
  }
  return true;
}

// Walks the first `dims` dimensions in row-major order.
class IndexWalk {
 public:
  IndexWalk(const IndexPlan& plan, int dims, int64_t position) : plan_(plan), dims_(dims) {
    for (int d = dims - 1; d >= 0; --d) {
      at_[d] = position % plan.sizes[d];
      position /= plan.sizes[d];
      move(d, at_[d]);
    }
  }

  void next() {
    for (int d = dims_ - 1; d >= 0; --d) {
      move(d, 1);
      if (++at_[d] < plan_.sizes[d]) return;
      move(d, -plan_.sizes[d]);
      at_[d] = 0;
    }
  }

  int64_t plain = 0, indexed = 0;
  int64_t selector[DT_MAX_DIMS] = {};  // offsets into the selectors' data

 private:
  void move(int d, int64_t steps) {
    plain += steps * plan_.plain[d];
    indexed += steps * plan_.indexed[d];
    for (int k = 0; k < plan_.selectors; ++k) selector[k] += steps * plan_.selector[k].strides[d];
  }

  const IndexPlan& plan_;
  const int dims_;
  int64_t at_[DT_MAX_DIMS];
};

constexpr int64_t kIndexTile = 2048;

// How a plan is walked: a list of slices along dimension `list`, for each position of the
// dimensions before it. Slices lie along the last dimension, unless that is itself the list: then a
// slice is one element.
struct IndexLists {
  int list;                                   // -1: there is but one slice
  int64_t size, count;                        // of a list, and how many lists there are
  int64_t run, plain_stride, indexed_stride;  // a slice
  bool fixed;                                 // every list selects the same offsets

  int64_t plain_step(const IndexPlan& plan) const { return list < 0 ? 0 : plan.plain[list]; }

  explicit IndexLists(const IndexPlan& plan) {
    const int last = plan.ndim - 1;
    const bool slices = plan.is_slice(last);
    list = slices ? last - 1 : last;
    size = list >= 0 ? plan.sizes[list] : 1;
    run = slices ? plan.sizes[last] : 1;
    plain_stride = slices ? plan.plain[last] : 1;
    indexed_stride = slices ? plan.indexed[last] : 1;
    count = 1;
    fixed = true;
    for (int d = 0; d < list; ++d) {
      count *= plan.sizes[d];
      fixed = fixed && plan.is_slice(d);
    }
  }
};

// The offsets of the indexed operand at positions [first, first + n) of the list at which the walk
// stands, relative to the walk's own.
inline void selected_offsets(const IndexPlan& plan, int list, const IndexWalk& walk, int64_t first,
                             int64_t n, int64_t* offsets) {
  const int64_t step = list < 0 ? 0 : plan.indexed[list];
  for (int64_t i = 0; i < n; ++i) offsets[i] = (first + i) * step;
  for (int k = 0; k < plan.selectors; ++k) {
    const Selector& s = plan.selector[k];
    const int64_t stride = list < 0 ? 0 : s.strides[list];
    const int64_t* values = s.data + walk.selector[k] + first * stride;
    for (int64_t i = 0; i < n; ++i) offsets[i] += s.offset(values[i * stride]);
  }
}

}  // namespace
}  // namespace dt::cpu
