// What is written through indices, split into positions, which choose, and slices, which follow.
#pragma once

#include "kernels/cuda/sorted_writes.cuh"

namespace dt::cuda {

// A plan split into what selectors choose (positions) and what is moved with it (slices). The
// indexed strides and steps of `positions` are counted in units.
struct SplitPlan {
  IndexPlan positions;
  Slice slice;
  int64_t unit = 0, lowest = 0;
  int64_t extent = 1;  // keys are below it, except the one of bad indices

  // The key of positions with a bad index, behind all others.
  int64_t nowhere() const { return extent; }
  bool is_small() const { return positions.count() <= kMaxIndex32 && nowhere() <= kMaxIndex32; }
  int key_bits() const {
    int bits = 1;
    while (bits < 63 && nowhere() >> bits > 0) ++bits;
    return bits;
  }
  template <class Word>
  SortedPositions<Word> sorted(const Word* keys, const Word* order) const {
    return {keys, order,        static_cast<Word>(positions.count()), static_cast<Word>(nowhere()),
            unit, lowest * unit};
  }
};

inline int64_t common_divisor(int64_t a, int64_t b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Chooses the unit, and counts the offsets of positions in it.
inline void measure_keys(SplitPlan* split) {
  IndexPlan& p = split->positions;
  for (int d = 0; d < p.ndim; ++d) split->unit = common_divisor(split->unit, p.indexed[d]);
  for (int k = 0; k < p.selectors; ++k) {
    if (p.selector[k].size > 1) split->unit = common_divisor(split->unit, p.selector[k].step);
  }
  if (split->unit == 0) split->unit = 1;
  const auto reach = [&](int64_t size, int64_t* stride) {
    *stride /= split->unit;
    const int64_t distance = (size - 1) * *stride;
    split->extent += distance < 0 ? -distance : distance;
    if (distance < 0) split->lowest += distance;
  };
  for (int d = 0; d < p.ndim; ++d) reach(p.sizes[d], &p.indexed[d]);
  for (int k = 0; k < p.selectors; ++k) reach(p.selector[k].size, &p.selector[k].step);
}

inline SplitPlan split_plan(const IndexPlan& plan) {
  SplitPlan split;
  IndexPlan& p = split.positions;
  Slice& s = split.slice;
  p = plan;
  p.ndim = 0;
  for (int d = 0; d < plan.ndim; ++d) {
    if (!plan.is_slice(d)) {
      copy_dim(&p, p.ndim++, plan, d);
      continue;
    }
    s.sizes[s.ndim] = plan.sizes[d];
    s.plain[s.ndim] = plan.plain[d];
    s.indexed[s.ndim++] = plan.indexed[d];
    s.count *= plan.sizes[d];
  }
  prepare(&p);
  measure_keys(&split);
  return split;
}

// What makes the keys of positions.
struct KeyMaker {
  IndexPlan positions;
  int64_t lowest, nowhere;
  Complaint complaint;

  KeyMaker(const SplitPlan& split, const Complaint& complaint)
      : positions(split.positions),
        lowest(split.lowest),
        nowhere(split.nowhere()),
        complaint(complaint) {}

  template <int kSelectors, class Word>
  __device__ __forceinline__ Word key(Word position) const {
    int64_t plain, offset;
    const bool is_right = positions.at<kSelectors>(position, complaint, &plain, &offset);
    return static_cast<Word>(is_right ? offset - lowest : nowhere);
  }
};

// The same as a function of the position alone.
template <int kSelectors>
struct Keys {
  KeyMaker maker;
  __device__ __forceinline__ uint32_t operator()(uint32_t position) const {
    return maker.key<kSelectors>(position);
  }
};

}  // namespace dt::cuda
