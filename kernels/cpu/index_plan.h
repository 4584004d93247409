// How the CPU makes and walks index plans.
#pragma once

#include "kernels/cpu/common.h"
#include "kernels/cpu/tile_move.h"
#include "kernels/index_plan.h"

namespace dt::cpu {
namespace {

// Whether a slice along d is moved as it is.
inline bool is_slice(const IndexPlan& plan, int d) {
  return !plan.is_chosen(d);
}

// There is always an inner dimension.
inline IndexPlan simplified(IndexPlan plan) {
  merge_dims(&plan);
  if (plan.ndim == 0) {
    plan.ndim = 1;
    plan.sizes[0] = plan.plain[0] = plan.indexed[0] = 1;
    for (int k = 0; k < plan.selectors; ++k) plan.selector[k].strides[0] = 0;
  }
  return plan;
}

inline IndexPlan plan_index(const dt_view& plain, const dt_view& indexed, const calls::Views& index,
                            const int64_t* size, const int64_t* stride) {
  IndexPlan plan;
  choose(&plan, plain, indexed, index, size, stride);
  return simplified(plan);
}

inline IndexPlan plan_select(const dt_view& plain, const dt_view& indexed, const dt_view& index,
                             int64_t dim) {
  IndexPlan plan;
  choose_slices(&plan, plain, indexed, index, dim);
  return simplified(plan);
}

inline IndexPlan plan_gather(const dt_view& plain, const dt_view& indexed, const dt_view& index,
                             int64_t dim) {
  IndexPlan plan;
  choose_elements(&plan, plain, indexed, index, dim);
  return simplified(plan);
}

// Negative values count from the end; they have been checked.
inline int64_t offset_of(const Selector& s, int64_t value) {
  return (value < 0 ? value + s.size : value) * s.step;
}

// The first of n values that is not in [lowest, size), or -1. What is left of a place in either
// direction is negative then, and signs are collected without branches.
inline int64_t first_outside(const int64_t* x, int64_t stride, int64_t n, int64_t lowest,
                             int64_t size) {
  constexpr int64_t kRun = 256;
  const auto sign = [&](int64_t value) { return (value - lowest) | (size - 1 - value); };
  for (int64_t begin = 0; begin < n; begin += kRun) {
    const int64_t end = min(n, begin + kRun);
    int64_t signs = 0;
    if (stride == 1) {
      for (int64_t i = begin; i < end; ++i) signs |= sign(x[i]);
    } else {
      for (int64_t i = begin; i < end; ++i) signs |= sign(x[i * stride]);
    }
    if (signs >= 0) continue;
    int64_t i = begin;
    while (sign(x[i * stride]) >= 0) ++i;
    return i;
  }
  return -1;
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
    const int64_t wrong = first_outside(line, stride, run, lowest, size);
    if (wrong >= 0) {
      stream->fault->index = line[wrong * stride];
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

  // How many positions the last of those dimensions has from here on.
  int64_t left() const { return plan_.sizes[dims_ - 1] - at_[dims_ - 1]; }

  // next(), n times, for n <= left().
  void skip(int64_t n) {
    move(dims_ - 1, n - 1);
    at_[dims_ - 1] += n - 1;
    next();
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
    const bool slices = is_slice(plan, last);
    list = slices ? last - 1 : last;
    size = list >= 0 ? plan.sizes[list] : 1;
    run = slices ? plan.sizes[last] : 1;
    plain_stride = slices ? plan.plain[last] : 1;
    indexed_stride = slices ? plan.indexed[last] : 1;
    count = 1;
    fixed = true;
    for (int d = 0; d < list; ++d) {
      count *= plan.sizes[d];
      fixed = fixed && is_slice(plan, d);
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
    const Selector s =
        plan.selector[k];  // a copy, which no offset that is written might be part of
    const int64_t stride = list < 0 ? 0 : s.strides[list];
    const int64_t* values = s.data + walk.selector[k] + first * stride;
    DT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) offsets[i] += offset_of(s, values[i * stride]);
  }
}

}  // namespace
}  // namespace dt::cpu
