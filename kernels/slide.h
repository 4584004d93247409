// How windows slide along a dimension, which all backends share.
#pragma once

#include "kernels/calls/shapes.gen.h"
#include "kernels/math.h"

namespace dt {

// Element t of window v lies at v * stride - padding + t * dilation.
template <class Int>
struct Slide {
  Int size, taps, windows, stride, padding, dilation;

  // Dimension `d` of the two of a call: 0 or 1.
  Slide(const calls::AddWindows& call, int d)
      : size(static_cast<Int>(call.y.sizes[2 + d])),
        taps(static_cast<Int>(call.x.sizes[2 + d])),
        windows(static_cast<Int>(call.x.sizes[4 + d])),
        stride(static_cast<Int>(call.stride[d])),
        padding(static_cast<Int>(call.padding[d])),
        dilation(static_cast<Int>(call.dilation[d])) {}

  DT_MATH Int place(Int v, Int t) const { return v * stride - padding + t * dilation; }

  // The window whose element t lies at i; -1 if there is none.
  DT_MATH Int window(Int i, Int t) const {
    const Int from = i + padding - t * dilation;
    if (from < 0) return -1;
    const Int v = stride == 1 ? from : from / stride;
    return v < windows && v * stride == from ? v : -1;
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
