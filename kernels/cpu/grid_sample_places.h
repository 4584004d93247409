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

// Places along a dimension are worked out in 32 bits, many at a time.
inline bool has_short_sides(const dt_view& x) {
  for (int d = 2; d < x.ndim; ++d) {
    if (x.sizes[d] > INT32_MAX) return false;
  }
  return true;
}

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
  // The taps of a block of places in one dimension.
  template <unsigned kEach>
  struct Line {
    int32_t at[kEach][kBlock];
    T weight[kEach][kBlock], slope[kEach][kBlock];
  };

  // What is the same for all places is known to the compiler where that is most calls, so that it
  // makes vector code.
  template <int kPadding, unsigned kEach>
  void read_line(int d, const T* coordinates, int64_t count, Line<kEach>* line) const {
    sampling::GridDim<T> axis = axes_[d];
    axis.reach = kEach / 2;
    constexpr bool kIsUsual = kPadding >= 0;
    if (kIsUsual) axis.padding = kPadding, axis.of_volume = false;
    const T* from = coordinates + (dims_ - 1 - d);  // its first is that of the last dimension
    const int64_t step = kIsUsual ? 2 : dims_;
    const T scale = axis.scale(), shift = axis.shift();  // choices in the loop are no vector code
    for (int64_t i = 0; i < count; ++i) {
      const sampling::Taps<T, int32_t> taps =
          axis.template taps_at<int32_t>({(from[i * step] + 1) * scale - shift, scale});
      DT_UNROLL
      for (unsigned k = 0; k < kEach; ++k) {
        line->at[k][i] = taps.at[k];
        line->weight[k][i] = taps.weight[k];
        line->slope[k][i] = taps.slope[k];
      }
    }
  }

  // With kEach taps in each dimension, which is known here because dividing takes long. Tap k of a
  // place is made of tap k % kEach of the first dimension, tap k / kEach % kEach of the second, ...
  template <unsigned kEach>
  void read_all(const T* coordinates, PlaceBlock<T>* out, bool with_slopes) const {
    const bool is_usual = kEach < 4 && dims_ == 2;
    Line<kEach> lines[kMaxDims];
    for (int d = 0; d < dims_; ++d) {
      if (is_usual && axes_[0].padding == sampling::kZeros) {
        read_line<sampling::kZeros>(d, coordinates, out->count, &lines[d]);
      } else if (is_usual && axes_[0].padding == sampling::kBorder) {
        read_line<sampling::kBorder>(d, coordinates, out->count, &lines[d]);
      } else {
        read_line<-1>(d, coordinates, out->count, &lines[d]);
      }
    }
    for (unsigned k = 0; k < out->taps; ++k) {
      for (unsigned d = 0, rest = k; d < static_cast<unsigned>(dims_); ++d, rest /= kEach)
        combine(lines[d].at[rest % kEach], lines[d].weight[rest % kEach], d, k, out);
      if (with_slopes) combine_slopes(lines, k, out);
    }
  }

  // Takes a dimension's tap to those of the dimensions before.
  void combine(const int32_t* at, const T* weight, unsigned d, unsigned k,
               PlaceBlock<T>* out) const {
    int64_t* offset = out->offset[k];
    T* product = out->weight[k];
    const int64_t size = axes_[d].size, n = out->count;
    if (d == 0) {
      for (int64_t i = 0; i < n; ++i) offset[i] = at[i], product[i] = weight[i];
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const int64_t inside = offset[i] * size + at[i];
      offset[i] = (offset[i] | at[i]) < 0 ? -1 : inside;
      product[i] *= weight[i];
    }
  }

  template <unsigned kEach>
  void combine_slopes(const Line<kEach>* lines, unsigned k, PlaceBlock<T>* out) const {
    for (int e = 0; e < dims_; ++e) {
      T* slope = out->slope[dims_ - 1 - e][k];
      unsigned rest = k;
      for (int d = 0; d < dims_; ++d, rest /= kEach) {
        const T* factor = e == d ? lines[d].slope[rest % kEach] : lines[d].weight[rest % kEach];
        for (int64_t i = 0; i < out->count; ++i)
          slope[i] = d == 0 ? factor[i] : slope[i] * factor[i];
      }
    }
  }

  const int dims_;
  const T* grid_;
  sampling::GridDim<T> axes_[kMaxDims];
  int64_t plane_ = 1, places_ = 1;
};

}  // namespace
}  // namespace dt::cpu
