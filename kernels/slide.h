// How windows slide along a dimension, which all backends share.
#pragma once

#include "kernels/calls/shapes.gen.h"
#include "kernels/math.h"

namespace dt {

// Element t of window v lies at v * stride - padding + t * dilation.
template <class Int>
struct Slide {
  Int size, taps, windows, stride, padding, dilation;
  // From one pair of an element and a window that lie at a place to the next: so many elements
  // further, so many windows back.
  Int tap_step, window_step;

  // Dimension `d` of the two of a call: 0 or 1.
  Slide(const calls::AddWindows& call, int d)
      : size(static_cast<Int>(call.y.sizes[2 + d])),
        taps(static_cast<Int>(call.x.sizes[2 + d])),
        windows(static_cast<Int>(call.x.sizes[4 + d])),
        stride(static_cast<Int>(call.stride[d])),
        padding(static_cast<Int>(call.padding[d])),
        dilation(static_cast<Int>(call.dilation[d])) {
    Int shared = stride;  // the greatest common divisor (Euclid)
    for (Int rest = dilation; rest != 0;) {
      const Int next = shared % rest;
      shared = rest;
      rest = next;
    }
    tap_step = stride / shared;
    window_step = dilation / shared;
  }

  DT_MATH Int place(Int v, Int t) const { return v * stride - padding + t * dilation; }

  // Calls f(t, v) for all elements t of windows v that lie at i, the first elements first.
  template <class F>
  DT_MATH void for_each_at(Int i, const F& f) const {
    const Int from = i + padding;
    Int t = 0;
    if (dilation == 1) {
      t = from % stride;
    } else {
      while (t < tap_step && (from - t * dilation) % stride != 0) ++t;
      if (t == tap_step) return;
    }
    for (Int v = (from - t * dilation) / stride; t < taps && v >= 0; t += tap_step) {
      if (v < windows) f(t, v);
      v -= window_step;
    }
  }

  // The windows whose element t lies inside: from begin(t) up to end(t).
  DT_MATH Int begin(Int t) const {
    const Int outside = padding - t * dilation;
    return outside > 0 ? (outside + stride - 1) / stride : 0;
  }
  DT_MATH Int end(Int t) const {
    const Int room = size - 1 + padding - t * dilation;
    const Int all = room < 0 ? 0 : room / stride + 1;
    return all < windows ? all : windows;
  }
};

}  // namespace dt
