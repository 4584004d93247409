// The geometry of convolutions along one dimension of the image.
//
// Forward and backward are the same operation, a correlation: output position i (of a phase of the
// output) adds up input positions i * in_step + shift, one for each tap of the kernel that reaches
// it. Forward, the steps are the strides and every tap reaches every output. Backward, the roles of
// the steps are exchanged: the output positions that are equal modulo the stride form a phase, and
// each tap serves one phase.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

inline int64_t floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}
inline int64_t floor_mod(int64_t a, int64_t b) {
  return a - floor_div(a, b) * b;
}

inline int64_t greatest_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

struct ConvAxis {
  int64_t in_size, in_step;
  int64_t out_count, out_first, out_step;  // output position i lies at out_first + i * out_step
  int64_t taps;
  int64_t tap_first, tap_step;  // tap t is element tap_first + t * tap_step of the kernel
  int64_t shift_first,
      shift_step;  // and reads the input at i * in_step + shift_first + t * shift_step

  int64_t shift(int64_t tap) const { return shift_first + tap * shift_step; }

  // Inputs that are equal modulo in_step lie together in the stage, so that a tap reads consecutive
  // elements whatever the stride. Only residues that some tap reads get a lane; tap t reads lane t
  // % lanes().
  int64_t lanes() const {
    const int64_t period = in_step / greatest_divisor(in_step, shift_step);
    return min(taps, max<int64_t>(1, period));
  }
  int64_t residue(int64_t lane) const { return floor_mod(shift(lane), in_step); }

  // Output position i reads position i + reach(tap) of the tap's lane.
  int64_t reach(int64_t tap) const { return floor_div(shift(tap), in_step); }
  int64_t first_reach() const { return taps == 0 ? 0 : min(reach(0), reach(taps - 1)); }
  int64_t last_reach() const { return taps == 0 ? 0 : max(reach(0), reach(taps - 1)); }
  int64_t halo() const { return last_reach() - first_reach(); }

  // How many zeros behind one line of a padded image can be those in front of the next.
  int64_t shared_padding() const {
    if (in_step != 1) return 0;
    return max<int64_t>(0, min(halo(), min(-first_reach(), out_count + last_reach() - in_size)));
  }
};

// How a dimension of a convolution is called by its user.
struct ConvDim {
  int64_t in, out, kernel, stride, padding, dilation;
};

inline ConvAxis forward_axis(const ConvDim& d) {
  return {d.in, d.stride, d.out, 0, 1, d.kernel, 0, 1, -d.padding, d.dilation};
}

// From the gradient of the output to the part of the input's gradient at positions phase, phase +
// stride, ...
inline ConvAxis backward_axis(const ConvDim& d, int64_t phase) {
  const int64_t step = d.stride / greatest_divisor(d.stride, d.dilation);
  int64_t first = 0;
  while (first < step && (phase + d.padding - first * d.dilation) % d.stride != 0) ++first;
  ConvAxis axis = {};
  axis.in_size = d.out, axis.in_step = 1;
  axis.out_count = phase < d.in ? ceil_div(d.in - phase, d.stride) : 0;
  axis.out_first = phase, axis.out_step = d.stride;
  if (first >= step || first >= d.kernel) return axis;  // no tap reaches this phase
  axis.taps = ceil_div(d.kernel - first, step);
  axis.tap_first = first, axis.tap_step = step;
  axis.shift_first = (phase + d.padding - first * d.dilation) / d.stride;
  axis.shift_step = -(step * d.dilation / d.stride);
  return axis;
}

// Without the taps at either end that reach no input from any output, but for one: what is between
// the taps of a wide dilation would not fit into any memory.
__attribute__((noinline)) inline ConvAxis without_idle_taps(ConvAxis axis) {
  const int64_t last = (axis.out_count - 1) * axis.in_step;
  const auto is_idle = [&](int64_t tap) {
    const int64_t shift = axis.shift(tap);
    return shift + last < 0 || shift >= axis.in_size;
  };
  while (axis.taps > 1 && is_idle(axis.taps - 1)) --axis.taps;
  while (axis.taps > 1 && is_idle(0)) {
    --axis.taps;
    axis.tap_first += axis.tap_step;
    axis.shift_first += axis.shift_step;
  }
  return axis;
}

}  // namespace
}  // namespace dt::cpu
