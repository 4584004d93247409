// What elements of a resampled line are made of, and what is made of them, found where it is
// needed.
#pragma once

#include "kernels/resample_taps.h"

namespace dt::cuda {

// Neighbouring elements with their weights: those that an element is made of, or those that are
// made of it. There may be more than there is room for; where there are fewer, weights are 0.
template <class T, int kRoom>
struct alignas(16) Neighbours {  // so that few loads get it
  int32_t first, count;
  T weight[kRoom];
};

// A dimension of `size` elements that becomes one of n.
template <class T, int kReach>
struct ResampledLine {
  static constexpr int kTaps = 2 * kReach;
  using Taps = Neighbours<T, kTaps>;

  int32_t size, n;
  bool changes, align_corners;
  T step;

  DT_MATH Taps taps(int32_t i) const {
    Taps taps = {i, 1, {T(1)}};
    if (!changes) return taps;
    const resample::Taps<T> at = arithmetic();
    const auto place = at.place(i);
    taps.first = at.inside(place.base + 1 - kReach);
    taps.count = at.inside(place.base + kReach) - taps.first + 1;
    taps.weight[0] = 0;
    for (int offset = 1 - kReach; offset <= kReach; ++offset) {
      const int32_t found = at.inside(place.base + offset) - taps.first;
      const T weight = at.filter(T(offset) - place.rest);
      for (int k = 0; k < kTaps; ++k) taps.weight[k] += k == found ? weight : T(0);
    }
    return taps;
  }

  // By how much element i of n is made of element j.
  DT_MATH T weight(int32_t i, int32_t j) const {
    const Taps of = taps(i);
    T weight = 0;
    for (int k = 0; k < kTaps; ++k) weight = j == of.first + k ? of.weight[k] : weight;
    return weight;
  }

  // The first of n elements that is made of element j or of what lies behind it.
  DT_MATH int32_t first_use(int32_t j) const {
    if (!changes) return j;
    const resample::Taps<T> at = arithmetic();
    return first_that(j - kReach,
                      [&](int32_t i) { return at.inside(at.place(i).base + kReach) >= j; });
  }
  // The first that is made only of what lies behind element j.
  DT_MATH int32_t end_of_uses(int32_t j) const {
    if (!changes) return j + 1;
    const resample::Taps<T> at = arithmetic();
    return first_that(j + kReach,
                      [&](int32_t i) { return at.inside(at.place(i).base + 1 - kReach) > j; });
  }

  template <int kRoom>
  DT_MATH Neighbours<T, kRoom> uses(int32_t j) const {
    const int32_t first = first_use(j);
    Neighbours<T, kRoom> uses = {first, end_of_uses(j) - first, {}};
    for (int k = 0; k < kRoom; ++k) uses.weight[k] = k < uses.count ? weight(first + k, j) : T(0);
    return uses;
  }

 private:
  DT_MATH resample::Taps<T> arithmetic() const {
    return {size, kReach, align_corners, false, step};
  }
  // The first of n elements of which `is_there` holds, as it does of all behind it: near the one
  // whose place is `place`. Places are rounded, so that only a look tells.
  template <class IsThere>
  DT_MATH int32_t first_that(int32_t place, const IsThere& is_there) const {
    const double from = align_corners ? place / double(step) : (place + 0.5) / double(step) - 0.5;
    int32_t i = from > 0 ? from < n ? static_cast<int32_t>(from) : n : 0;  // NaN: 0
    while (i > 0 && is_there(i - 1)) --i;
    while (i < n && !is_there(i)) ++i;
    return i;
  }
};

}  // namespace dt::cuda
