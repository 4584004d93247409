// What index, index_put, index_select, index_add, gather and scatter share: positions of a common
// shape, at which one operand (`plain`) is read or written directly and another (`indexed`) through
// index tensors.
#pragma once

#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"

namespace dt::cuda {

// Index values that choose along one dimension of the indexed operand.
struct Selector {
  const int64_t* data;
  int64_t size;  // of the dimension
  int64_t step;  // its stride in elements
  int64_t strides[DT_MAX_DIMS];
};

struct IndexPlan {
  int ndim = 0, selectors = 0;
  bool wraps = false;  // negative values count from the end
  int64_t sizes[DT_MAX_DIMS];
  int64_t plain[DT_MAX_DIMS];
  int64_t indexed[DT_MAX_DIMS];  // 0 where selectors choose
  FastDivide fast[DT_MAX_DIMS];
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
    return indexed[d] != 0;
  }
  // Whether two positions can never meet in one element of the indexed operand.
  bool is_injective() const {
    for (int d = 0; d < ndim; ++d) {
      if (indexed[d] == 0) return false;
    }
    return true;
  }

#ifdef __CUDACC__
  // The offsets of both operands at a logical position, and whether its index values are right: for
  // a wrong one element 0 may be read. kSelectors is at least `selectors`.
  template <int kSelectors, class Index>
  __device__ __forceinline__ bool at(Index position, const Complaint& complaint, int64_t* to_plain,
                                     int64_t* to_indexed) const {
    int64_t plain_offset = 0, indexed_offset = 0, values[kSelectors] = {};
    for (int d = ndim - 1; d >= 0; --d) {
      const int64_t here = static_cast<int64_t>(take_coordinate(d, &position));
      plain_offset += here * plain[d];
      indexed_offset += here * indexed[d];
#pragma unroll
      for (int k = 0; k < kSelectors; ++k) {
        if (k < selectors) values[k] += here * selector[k].strides[d];
      }
    }
    bool is_right = true;
#pragma unroll
    for (int k = 0; k < kSelectors; ++k) {
      if (k >= selectors) continue;
      const Selector& s = selector[k];
      int64_t value = s.data[values[k]];
      if (wraps && value < 0 && value >= -s.size) value += s.size;
      if (complaint.accepts(value, s.size))
        indexed_offset += value * s.step;
      else
        is_right = false;
    }
    *to_plain = plain_offset;
    *to_indexed = indexed_offset;
    return is_right;
  }

  // The offset of the plain operand alone.
  template <class Index>
  __device__ __forceinline__ int64_t plain_at(Index position) const {
    int64_t offset = 0;
    for (int d = ndim - 1; d >= 0; --d)
      offset += static_cast<int64_t>(take_coordinate(d, &position)) * plain[d];
    return offset;
  }

 private:
  // The coordinate in dimension d; `position` keeps what the outer dimensions are about.
  template <class Index>
  __device__ __forceinline__ Index take_coordinate(int d, Index* position) const {
    if (d == 0) return *position;
    Index outer;
    if constexpr (sizeof(Index) == 4)
      outer = fast[d].divide(*position);
    else
      outer = *position / static_cast<Index>(sizes[d]);
    const Index here = *position - outer * static_cast<Index>(sizes[d]);
    *position = outer;
    return here;
  }
#endif
};

// Copies dimension `from` of a plan to `to` of another.
inline void copy_dim(IndexPlan* target, int to, const IndexPlan& source, int from) {
  target->sizes[to] = source.sizes[from];
  target->plain[to] = source.plain[from];
  target->indexed[to] = source.indexed[from];
  for (int k = 0; k < source.selectors; ++k)
    target->selector[k].strides[to] = source.selector[k].strides[from];
}

// Prepares divisions; call it when the sizes are final.
inline void prepare(IndexPlan* plan) {
  for (int d = 1; d < plan->ndim; ++d) {
    if (plan->sizes[d] > 0 && plan->sizes[d] <= kMaxIndex32)
      plan->fast[d] = FastDivide(static_cast<uint32_t>(plan->sizes[d]));
  }
}

// Drops dimensions of size 1 and merges neighbours that all operands walk as one. The logical order
// stays.
inline void simplify(IndexPlan* plan) {
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
  prepare(plan);
}

// The plan of index (plain = y, indexed = x) and index_put (plain = values, indexed = y), with the
// sizes and strides of the indexed dimensions.
inline IndexPlan plan_index(const dt_view& plain, const dt_view& indexed, const calls::Views& index,
                            const int64_t* size, const int64_t* stride) {
  IndexPlan plan;
  plan.wraps = true;
  plan.ndim = plain.ndim;
  plan.selectors = static_cast<int>(index.n);
  for (int d = 0; d < plain.ndim; ++d) {
    plan.sizes[d] = plain.sizes[d];
    plan.plain[d] = plain.strides[d];
    plan.indexed[d] = indexed.strides[d];
  }
  for (int k = 0; k < plan.selectors; ++k) {
    Selector& s = plan.selector[k];
    s.data = static_cast<const int64_t*>(index[k].data);
    s.size = size[k];
    s.step = stride[k];
    for (int d = 0; d < plain.ndim; ++d) s.strides[d] = index[k].strides[d];
  }
  simplify(&plan);
  return plan;
}

// A plan with one selector that chooses along `dim`; `strides` are the index's in the common shape
// `sizes`, which has as many dimensions as all views.
inline IndexPlan plan_along(const dt_view& plain, const dt_view& indexed, const int64_t* sizes,
                            const int64_t* index, const int64_t* strides, int64_t dim) {
  IndexPlan plan;
  plan.ndim = plain.ndim;
  plan.selectors = 1;
  Selector& s = plan.selector[0];
  s.data = index;
  s.size = indexed.ndim == 0 ? 1 : indexed.sizes[dim];
  s.step = indexed.ndim == 0 ? 0 : indexed.strides[dim];
  for (int d = 0; d < plain.ndim; ++d) {
    plan.sizes[d] = sizes[d];
    plan.plain[d] = plain.strides[d];
    plan.indexed[d] = d == dim ? 0 : indexed.strides[d];
    s.strides[d] = strides[d];
  }
  simplify(&plan);
  return plan;
}

// The plan of index_select (plain = y, indexed = x) and index_add (plain = source, indexed = y).
inline IndexPlan plan_select(const dt_view& plain, const dt_view& indexed, const dt_view& index,
                             int64_t dim) {
  int64_t strides[DT_MAX_DIMS] = {};
  if (plain.ndim > 0) strides[dim] = index.ndim == 0 ? 0 : index.strides[0];
  return plan_along(plain, indexed, plain.sizes, static_cast<const int64_t*>(index.data), strides,
                    dim);
}

// The plan of gather (plain = y, indexed = x) and scatter (plain = source, indexed = y).
inline IndexPlan plan_gather(const dt_view& plain, const dt_view& indexed, const dt_view& index,
                             int64_t dim) {
  return plan_along(plain, indexed, index.sizes, static_cast<const int64_t*>(index.data),
                    index.strides, dim);
}

// Whether both operands can be moved in units of `width` elements, and the plan that does so.
inline bool widen(IndexPlan* plan, int64_t width) {
  const int last = plan->ndim - 1;
  if (last < 0 || !plan->is_slice(last) || plan->plain[last] != 1 || plan->indexed[last] != 1)
    return false;
  bool divides = plan->sizes[last] % width == 0;
  for (int d = 0; d < last; ++d)
    divides &= plan->plain[d] % width == 0 && plan->indexed[d] % width == 0;
  for (int k = 0; k < plan->selectors; ++k) divides &= plan->selector[k].step % width == 0;
  if (!divides) return false;
  plan->sizes[last] /= width;
  for (int d = 0; d < last; ++d) plan->plain[d] /= width, plan->indexed[d] /= width;
  for (int k = 0; k < plan->selectors; ++k) plan->selector[k].step /= width;
  prepare(plan);
  return true;
}

template <int kValue>
struct SelectorCount {
  static constexpr int value = kValue;
};

// f(at least the number of selectors, an index type that counts all positions), as types.
template <class F>
int32_t visit_plan(const IndexPlan& plan, const F& f) {
  const bool is_small = plan.count() <= kMaxIndex32;
  const auto visit_index = [&](auto selectors) {
    return is_small ? f(selectors, uint32_t()) : f(selectors, uint64_t());
  };
  if (plan.selectors <= 2) return visit_index(SelectorCount<2>());
  return visit_index(SelectorCount<DT_MAX_DIMS>());
}

// Whether some selector chooses from nothing: then every value is wrong, and there is no element 0
// to read instead.
inline bool chooses_from_nothing(const IndexPlan& plan) {
  for (int k = 0; k < plan.selectors; ++k) {
    if (plan.selector[k].size == 0) return true;
  }
  return false;
}

}  // namespace dt::cuda
