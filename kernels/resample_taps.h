// What an element of a resampled line is made of: the arithmetic that all backends share.
//
// A line of `size` elements is read at places `step` apart through a filter that reaches `reach`
// elements to each side. Places are rounded as PyTorch rounds them, in the type of the weights:
// that decides between which elements they lie.
#pragma once

#include "kernels/math.h"

namespace dt::resample {

template <class T>
struct Taps {
  int64_t size, reach;
  bool align_corners, antialias;
  T step;

  // Fills in column i of [taps, n] sources and weights.
  DT_MATH void write(int64_t i, int32_t* source, T* weight, int64_t taps, int64_t n) const {
    for (int64_t k = 0; k < taps; ++k) source[k * n + i] = -1, weight[k * n + i] = T(0);
    if (antialias) {
      write_mean(i, source + i, weight + i, taps, n);
    } else {
      write_neighbours(i, source + i, weight + i, n);
    }
  }

  // The element that a place lies at or behind, and how far behind: 0 to 1.
  template <class Int>
  struct Place {
    Int base;
    T rest;
  };

  // With Int for elements, which the size fits.
  template <class Int = int64_t>
  DT_MATH Place<Int> place(Int i) const {
    T at = align_corners ? step * T(i) : step * (T(i) + T(0.5)) - T(0.5);
    if (reach == 1 && at < 0) at = 0;
    const auto floor = static_cast<Int>(math::floor(at)), last = static_cast<Int>(size - 1);
    const Int base = floor < last ? floor : last;
    const T rest = at - T(base);
    return {base, rest < 0 ? T(0) : rest < 1 ? rest : T(1)};
  }
  // Beyond the ends the last element counts again.
  template <class Int>
  DT_MATH Int inside(Int at) const {
    const auto last = static_cast<Int>(size - 1);
    return at < 0 ? 0 : at < last ? at : last;
  }
  DT_MATH T filter(T distance) const {
    const T x = distance < 0 ? -distance : distance;
    if (reach == 1) return x < 1 ? 1 - x : T(0);
    if (reach == 2) return cubic(x, antialias ? T(-0.5) : T(-0.75));
    return x < 3 ? sinc(x) * sinc(x / 3) : T(0);
  }

 private:
  // Keys, "Cubic convolution interpolation for digital image processing", 1981.
  static DT_MATH T cubic(T x, T a) {
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : T(0);
  }
  static DT_MATH T sinc(T x) {
    const T angle = x * T(3.14159265358979323846);
    return x == 0 ? T(1) : math::sin(angle) / angle;
  }

  // The 2 * reach nearest elements.
  DT_MATH void write_neighbours(int64_t i, int32_t* source, T* weight, int64_t n) const {
    const Place<int64_t> from = place(i);
    const int64_t first = inside(from.base + 1 - reach);
    for (int64_t offset = 1 - reach; offset <= reach; ++offset) {
      const int64_t at = inside(from.base + offset), k = at - first;
      source[k * n] = static_cast<int32_t>(at);
      weight[k * n] += filter(T(offset) - from.rest);
    }
  }

  // All elements under a filter that is as wide as a step, but no narrower than an element.
  DT_MATH void write_mean(int64_t i, int32_t* source, T* weight, int64_t taps, int64_t n) const {
    const T width = step < 1 ? T(1) : step, support = T(reach) * width;
    const T centre = step * (T(i) + T(0.5));
    auto first = static_cast<int64_t>(centre - support + T(0.5));
    auto end = static_cast<int64_t>(centre + support + T(0.5));
    if (first < 0) first = 0;
    if (end > size) end = size;
    if (end > first + taps) end = first + taps;
    T total = 0;
    for (int64_t at = first; at < end; ++at) {
      const T w = filter((T(at) - centre + T(0.5)) / width);
      source[(at - first) * n] = static_cast<int32_t>(at);
      weight[(at - first) * n] = w;
      total += w;
    }
    for (int64_t k = 0; k < end - first; ++k) weight[k * n] /= total;
  }
};

// The table of `n` elements from the other side: column i gets the elements that are made of i.
template <class T>
struct Transposed {
  const int32_t* source;  // [taps, n]
  const T* weight;
  int64_t taps, n;

  DT_MATH void write(int64_t i, int32_t* to, T* to_weight, int64_t room, int64_t size) const {
    int64_t found = 0;
    for (int64_t o = first_that_reaches(i); o < n && source[o] <= i && found < room; ++o, ++found) {
      to[found * size + i] = static_cast<int32_t>(o);
      to_weight[found * size + i] = weight[(i - source[o]) * n + o];
    }
    for (; found < room; ++found) to[found * size + i] = -1, to_weight[found * size + i] = T(0);
  }

 private:
  DT_MATH bool reaches(int64_t o, int64_t i) const {
    const int64_t k = i - source[o];
    return k < 0 || (k < taps && source[k * n + o] >= 0);
  }
  // Sources only grow from one element to the next.
  DT_MATH int64_t first_that_reaches(int64_t i) const {
    int64_t begin = 0, end = n;
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (reaches(middle, i)) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    return begin;
  }
};

}  // namespace dt::resample
