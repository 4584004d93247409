// What places of a grid are made of.
#pragma once

#include "kernels/cpu/simd.h"
#include "kernels/cpu/workers.h"
#include "kernels/grid_sample.h"

namespace dt::cpu {
namespace {

constexpr int64_t kBlock = 64;
constexpr int64_t kMaxTaps = 16;
constexpr int64_t kMaxDims = 3;

// The elements that each of a block of places is made of: products of the taps of each dimension.
template <class T>
struct PlaceBlock {
  int64_t count, taps;
  int64_t offset[kMaxTaps][kBlock];  // in a plane; -1: none
  T weight[kMaxTaps][kBlock];
  T slope[kMaxDims][kMaxTaps][kBlock];  // by each coordinate, in the grid's order
};

template <class T>
class Sampler {
 public:
  // x [n, c, ...] and grid [n, ..., dims] are contiguous.
  template <class Call>
  Sampler(const Call& call, const dt_view& x, const dt_view& grid)
      : dims_(x.ndim - 2), grid_(data<const T>(grid)) {
    for (int d = 0; d < dims_; ++d) {
      axes_[d] = {x.sizes[d + 2], call.reach, call.padding, call.align_corners, dims_ == 3};
      plane_ *= x.sizes[d + 2];
      places_ *= grid.sizes[d + 1];
    }
  }

  int dims() const { return dims_; }
  int64_t plane() const { return plane_; }
  int64_t places() const { return places_; }
  int64_t blocks() const { return ceil_div(places_, kBlock); }
  int64_t taps() const {
    int64_t taps = 1;
    for (int d = 0; d < dims_; ++d) taps *= axes_[d].count();
    return taps;
  }

  // Slopes are worked out only if wanted.
  void read(int64_t n, int64_t block, PlaceBlock<T>* out, bool with_slopes = false) const {
    out->count = min(kBlock, places_ - block * kBlock);
    out->taps = taps();
    const T* coordinates = grid_ + (n * places_ + block * kBlock) * dims_;
    const int64_t each = axes_[0].count();
    if (each == 1) return read_all<1>(coordinates, out, with_slopes);
    if (each == 2) return read_all<2>(coordinates, out, with_slopes);
    read_all<4>(coordinates, out, with_slopes);
  }

 private:
  // With kEach taps in each dimension, which is known here because dividing takes long. Tap k of a
  // place is made of tap k % kEach of the first dimension, tap k / kEach % kEach of the second, ...
  template <unsigned kEach>
  void read_all(const T* coordinates, PlaceBlock<T>* out, bool with_slopes) const {
    const int dims = dims_;
    for (int64_t i = 0; i < out->count; ++i, coordinates += dims) {
      sampling::Taps<T> of[kMaxDims];
      // The grid's first coordinate is that of the last dimension.
      for (int d = 0; d < dims; ++d) of[d] = axes_[d].taps(coordinates[dims - 1 - d]);
      for (unsigned k = 0; k < out->taps; ++k) {
        combine<kEach>(of, k, i, out);
        if (with_slopes) combine_slopes<kEach>(of, k, i, out);
      }
    }
  }

  template <unsigned kEach>
  void combine(const sampling::Taps<T>* of, unsigned k, int64_t i, PlaceBlock<T>* out) const {
    int64_t offset = 0;
    unsigned rest = k;
    T weight = 1;
    for (int d = 0; d < dims_; ++d, rest /= kEach) {
      const int64_t tap = rest % kEach, at = of[d].at[tap];
      offset = offset < 0 || at < 0 ? -1 : offset * axes_[d].size + at;
      weight *= of[d].weight[tap];
    }
    out->offset[k][i] = offset;
    out->weight[k][i] = weight;
  }

  template <unsigned kEach>
  void combine_slopes(const sampling::Taps<T>* of, unsigned k, int64_t i,
                      PlaceBlock<T>* out) const {
    for (int e = 0; e < dims_; ++e) {
      unsigned rest = k;
      T slope = 1;
      for (int d = 0; d < dims_; ++d, rest /= kEach)
        slope *= e == d ? of[d].slope[rest % kEach] : of[d].weight[rest % kEach];
      out->slope[dims_ - 1 - e][k][i] = slope;
    }
  }

  const int dims_;
  const T* grid_;
  sampling::GridDim<T> axes_[kMaxDims];
  int64_t plane_ = 1, places_ = 1;
};

}  // namespace
}  // namespace dt::cpu
