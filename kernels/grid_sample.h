// Where sampling at places of a grid finds its elements: what all backends share.
#pragma once

#include "kernels/math.h"

namespace dt::sampling {

enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// A place in elements, and its derivative by the grid's coordinate.
template <class T>
struct Place {
  T at, slope;
};

// The elements of one dimension that a place is made of: -1 is none. slope is the derivative of
// the weight by the grid's coordinate.
template <class T, class Int = int64_t>
struct Taps {
  Int at[4];
  T weight[4], slope[4];
};

template <class T>
struct GridDim {
  int64_t size, reach;  // 0: nearest, 1: linear, 2: cubic
  int64_t padding;
  bool align_corners;
  bool of_volume;

  DT_MATH int64_t count() const { return reach == 0 ? 1 : 2 * reach; }

  // A coordinate's place is at (coordinate + 1) * scale() - shift().
  DT_MATH T scale() const { return T(align_corners ? size - 1 : size) / 2; }
  DT_MATH T shift() const { return align_corners ? T(0) : T(0.5); }

  // With Int for places, which the size fits.
  template <class Int = int64_t>
  DT_MATH Taps<T, Int> taps(T coordinate) const {
    return taps_at<Int>({(coordinate + 1) * scale() - shift(), scale()});
  }

  template <class Int = int64_t>
  DT_MATH Taps<T, Int> taps_at(Place<T> place) const {
    if (reach == 2) return cubic_taps<Int>(place);
    return reach == 1 ? linear_taps<Int>(padded(place)) : nearest_tap<Int>(padded(place));
  }

 private:
  template <class Int>
  DT_MATH Int inside(T at) const {
    return Int((at >= 0) & (at < T(size)) ? at : T(-1));
  }

  DT_MATH Place<T> clipped(Place<T> p) const {
    const T last = T(size - 1);
    const bool before = !(p.at > 0), behind = p.at >= last;
    const T up_to_last = behind ? last : p.at, slope = behind ? T(0) : p.slope;
    return {before ? T(0) : up_to_last, before ? T(0) : slope};
  }

  // In the mirrors at the centres or the outer edges of the first and the last element.
  DT_MATH Place<T> reflected(Place<T> p) const {
    const T low = align_corners ? T(0) : T(-0.5), span = T(align_corners ? size - 1 : size);
    if (span == 0) return {T(0), T(0)};
    T distance = p.at - low, slope = p.slope;
    if (distance < 0) distance = -distance, slope = -slope;
    const T turns = math::floor(distance / span), rest = distance - turns * span;
    if (turns - 2 * math::floor(turns / 2) == 0) return {rest + low, slope};
    return {span - rest + low, -slope};
  }

  DT_MATH Place<T> padded(Place<T> p) const {
    if (padding == kZeros) return p;
    return clipped(padding == kReflection ? reflected(p) : p);
  }

  template <class Int>
  DT_MATH Taps<T, Int> nearest_tap(Place<T> p) const {
    return {{inside<Int>(math::round(p.at))}, {T(1)}, {T(0)}};
  }

  template <class Int>
  DT_MATH Taps<T, Int> linear_taps(Place<T> p) const {
    // Infinitely far from a volume there is nothing, as in PyTorch; from an image NaN.
    const bool is_finite = p.at - p.at == 0;
    if (of_volume && padding == kZeros && !is_finite) return {{-1, -1}, {}, {}};
    const T first = math::floor(p.at), rest = p.at - first;
    return {{inside<Int>(first), inside<Int>(first + 1)}, {1 - rest, rest}, {-p.slope, p.slope}};
  }

  // Keys' cubic of a = -3/4 within one element, and within two; and their derivatives.
  static DT_MATH T near(T x) { return (T(1.25) * x - T(2.25)) * x * x + 1; }
  static DT_MATH T far(T x) { return ((T(-0.75) * x + T(3.75)) * x - 6) * x + 3; }
  static DT_MATH T near_slope(T x) { return (T(3.75) * x - T(4.5)) * x; }
  static DT_MATH T far_slope(T x) { return (T(-2.25) * x + T(7.5)) * x - 6; }

  template <class Int>
  DT_MATH Taps<T, Int> cubic_taps(Place<T> p) const {
    const T first = math::floor(p.at), t = p.at - first, s = p.slope;
    Taps<T, Int> taps = {
        {},
        {far(1 + t), near(t), near(1 - t), far(2 - t)},
        {s * far_slope(1 + t), s * near_slope(t), -s * near_slope(1 - t), -s * far_slope(2 - t)}};
    for (int k = 0; k < 4; ++k) taps.at[k] = inside<Int>(padded({first + T(k - 1), T(0)}).at);
    return taps;
  }
};

}  // namespace dt::sampling
