// How CUDA makes index plans, and walks them on the device.
#pragma once

#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"
#include "kernels/cuda/packet.cuh"
#include "kernels/index_plan.h"

namespace dt::cuda {

struct IndexPlan : dt::IndexPlan {
  bool wraps = false;  // negative values count from the end
  FastDivide fast[DT_MAX_DIMS];

  // Whether a slice along d is moved as it is.
  bool is_slice(int d) const { return !is_chosen(d) && indexed[d] != 0; }
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
    int64_t to_values[kSelectors];
    find(position, to_plain, to_indexed, to_values);
    bool is_right = true;
#pragma unroll
    for (int k = 0; k < kSelectors; ++k) {
      if (k < selectors)
        is_right &= choose(k, selector[k].data[to_values[k]], complaint, to_indexed);
    }
    return is_right;
  }

  // The offsets of both operands and of index values, before these choose.
  template <int kSelectors, class Index>
  __device__ __forceinline__ void find(Index position, int64_t* to_plain, int64_t* to_indexed,
                                       int64_t (&to_values)[kSelectors]) const {
    int64_t plain_offset = 0, indexed_offset = 0;
#pragma unroll
    for (int k = 0; k < kSelectors; ++k) to_values[k] = 0;
    for (int d = ndim - 1; d >= 0; --d) {
      const int64_t here = static_cast<int64_t>(take_coordinate(d, &position));
      plain_offset += here * plain[d];
      indexed_offset += here * indexed[d];
#pragma unroll
      for (int k = 0; k < kSelectors; ++k) {
        if (k < selectors) to_values[k] += here * selector[k].strides[d];
      }
    }
    *to_plain = plain_offset;
    *to_indexed = indexed_offset;
  }

  // Goes from an offset of the indexed operand to where a value of selector k chooses. A wrong
  // value stays there and gives false.
  __device__ __forceinline__ bool choose(int k, int64_t value, const Complaint& complaint,
                                         int64_t* to_indexed) const {
    const Selector& s = selector[k];
    if (wraps && value < 0 && value >= -s.size) value += s.size;
    if (!complaint.accepts(value, s.size)) return false;
    *to_indexed += value * s.step;
    return true;
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

// Prepares divisions; call it when the sizes are final.
inline void prepare(IndexPlan* plan) {
  for (int d = 1; d < plan->ndim; ++d) {
    if (plan->sizes[d] > 0 && plan->sizes[d] <= kMaxIndex32)
      plan->fast[d] = FastDivide(static_cast<uint32_t>(plan->sizes[d]));
  }
}

inline void simplify(IndexPlan* plan) {
  merge_dims(plan);
  prepare(plan);
}

inline IndexPlan plan_index(const dt_view& plain, const dt_view& indexed, const calls::Views& index,
                            const int64_t* size, const int64_t* stride) {
  IndexPlan plan;
  plan.wraps = true;
  choose(&plan, plain, indexed, index, size, stride);
  simplify(&plan);
  return plan;
}

inline IndexPlan plan_select(const dt_view& plain, const dt_view& indexed, const dt_view& index,
                             int64_t dim) {
  IndexPlan plan;
  choose_slices(&plan, plain, indexed, index, dim);
  simplify(&plan);
  return plan;
}

inline IndexPlan plan_gather(const dt_view& plain, const dt_view& indexed, const dt_view& index,
                             int64_t dim) {
  IndexPlan plan;
  choose_elements(&plan, plain, indexed, index, dim);
  simplify(&plan);
  return plan;
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
