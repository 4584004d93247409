// What index, index_put, index_select, index_add, gather and scatter share, on both backends:
// positions of a common shape, at which one operand (`plain`) is read or written directly and
// another
// (`indexed`) through index tensors.
#pragma once

#include "kernels/calls/call.h"

namespace dt {

// Index values that choose along one dimension of the indexed operand.
struct Selector {
  const int64_t* data;
  int64_t size;  // of the dimension
  int64_t step;  // its stride in elements
  int64_t strides[DT_MAX_DIMS];
};

struct IndexPlan {
  int ndim = 0, selectors = 0;
  int64_t sizes[DT_MAX_DIMS];
  int64_t plain[DT_MAX_DIMS];
  int64_t indexed[DT_MAX_DIMS];  // 0 where selectors choose
  Selector selector[DT_MAX_DIMS];

  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= sizes[d];
    return n;
  }
  // Whether some selector varies along d.
  bool is_chosen(int d) const {
    for (int k = 0; k < selectors; ++k) {
      if (selector[k].strides[d] != 0) return true;
    }
    return false;
  }
};

// Copies dimension `from` of a plan to `to` of another.
inline void copy_dim(IndexPlan* target, int to, const IndexPlan& source, int from) {
  target->sizes[to] = source.sizes[from];
  target->plain[to] = source.plain[from];
  target->indexed[to] = source.indexed[from];
  for (int k = 0; k < source.selectors; ++k)
    target->selector[k].strides[to] = source.selector[k].strides[from];
}

// Drops dimensions of size 1 and merges neighbours that all operands walk as one. The logical order
// stays.
inline void merge_dims(IndexPlan* plan) {
  auto continues = [&](int outer, int inner) {
    const int64_t n = plan->sizes[inner];
    bool merges = plan->plain[outer] == plan->plain[inner] * n &&
                  plan->indexed[outer] == plan->indexed[inner] * n;
    for (int k = 0; k < plan->selectors; ++k)
      merges &= plan->selector[k].strides[outer] == plan->selector[k].strides[inner] * n;
    return merges;
  };
  int kept = 0;
  for (int d = 0; d < plan->ndim; ++d) {
    if (plan->sizes[d] == 1) continue;
    const bool merges = kept > 0 && continues(kept - 1, d);
    const int64_t size = merges ? plan->sizes[kept - 1] * plan->sizes[d] : plan->sizes[d];
    if (!merges) ++kept;
    copy_dim(plan, kept - 1, *plan, d);
    plan->sizes[kept - 1] = size;
  }
  plan->ndim = kept;
}

// index (plain = y, indexed = x) and index_put (plain = values, indexed = y), with the sizes and
// strides of the indexed dimensions.
inline void choose(IndexPlan* plan, const dt_view& plain, const dt_view& indexed,
                   const calls::Views& index, const int64_t* size, const int64_t* stride) {
  plan->ndim = plain.ndim;
  plan->selectors = static_cast<int>(index.n);
  for (int d = 0; d < plain.ndim; ++d) {
    plan->sizes[d] = plain.sizes[d];
    plan->plain[d] = plain.strides[d];
    plan->indexed[d] = indexed.strides[d];
  }
  for (int k = 0; k < plan->selectors; ++k) {
    Selector& s = plan->selector[k];
    s.data = static_cast<const int64_t*>(index[k].data);
    s.size = size[k];
    s.step = stride[k];
    for (int d = 0; d < plain.ndim; ++d) s.strides[d] = index[k].strides[d];
  }
}

// One selector that chooses along `dim`; `strides` are the index's in the common shape `sizes`,
// which has as many dimensions as all views.
inline void choose_along(IndexPlan* plan, const dt_view& plain, const dt_view& indexed,
                         const int64_t* sizes, const void* index, const int64_t* strides,
                         int64_t dim) {
  plan->ndim = plain.ndim;
  plan->selectors = 1;
  Selector& s = plan->selector[0];
  s.data = static_cast<const int64_t*>(index);
  s.size = indexed.ndim == 0 ? 1 : indexed.sizes[dim];
  s.step = indexed.ndim == 0 ? 0 : indexed.strides[dim];
  for (int d = 0; d < plain.ndim; ++d) {
    plan->sizes[d] = sizes[d];
    plan->plain[d] = plain.strides[d];
    plan->indexed[d] = d == dim ? 0 : indexed.strides[d];
    s.strides[d] = strides[d];
  }
}

// index_select (plain = y, indexed = x) and index_add (plain = source, indexed = y).
inline void choose_slices(IndexPlan* plan, const dt_view& plain, const dt_view& indexed,
                          const dt_view& index, int64_t dim) {
  int64_t strides[DT_MAX_DIMS] = {};
  if (plain.ndim > 0) strides[dim] = index.ndim == 0 ? 0 : index.strides[0];
  choose_along(plan, plain, indexed, plain.sizes, index.data, strides, dim);
}

// gather (plain = y, indexed = x) and scatter (plain = source, indexed = y).
inline void choose_elements(IndexPlan* plan, const dt_view& plain, const dt_view& indexed,
                            const dt_view& index, int64_t dim) {
  choose_along(plan, plain, indexed, index.sizes, index.data, index.strides, dim);
}

}  // namespace dt
