// The dimensions of a call with the strides of its operands, as plans on the host see them.
#pragma once

#include <stdint.h>

#include "kernels/abi.h"

namespace dt::cuda {

inline int64_t magnitude(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

// Axis 0 is the outermost. Strides count elements.
template <int kOperands>
struct Axes {
  int n = 0;
  int64_t size[DT_MAX_DIMS];
  int64_t stride[DT_MAX_DIMS][kOperands];
  int64_t base[kOperands] = {};  // the first element: pieces of a whole do not start at 0

  int64_t count() const {
    int64_t product = 1;
    for (int d = 0; d < n; ++d) product *= size[d];
    return product;
  }

  // The innermost axis.
  int last() const { return n - 1; }

  void insert(int at, int64_t axis_size, const int64_t (&axis_stride)[kOperands]) {
    for (int d = n++; d > at; --d) copy_axis(d, d - 1);
    size[at] = axis_size;
    for (int k = 0; k < kOperands; ++k) stride[at][k] = axis_stride[k];
  }

  // Inserts an axis so that the strides of the first operand fall; its repeated elements (stride 0)
  // are walked outermost.
  void insert_by_stride(int64_t axis_size, const int64_t (&axis_stride)[kOperands]) {
    const int64_t mine = magnitude(axis_stride[0]);
    auto goes_outside = [&](int d) {
      const int64_t other = magnitude(stride[d][0]);
      return other != 0 && (mine == 0 || mine > other);
    };
    int at = n;
    while (at > 0 && goes_outside(at - 1)) --at;
    insert(at, axis_size, axis_stride);
  }

  // Merges neighbours that all operands walk as one.
  void coalesce() {
    int kept = 0;
    for (int d = 1; d < n; ++d) {
      bool is_one = true;
      for (int k = 0; k < kOperands; ++k) is_one &= stride[kept][k] == stride[d][k] * size[d];
      const int64_t merged = is_one ? size[kept] * size[d] : size[d];
      if (!is_one) ++kept;
      copy_axis(kept, d);
      size[kept] = merged;
    }
    if (n > 0) n = kept + 1;
  }

 private:
  void copy_axis(int to, int from) {
    size[to] = size[from];
    for (int k = 0; k < kOperands; ++k) stride[to][k] = stride[from][k];
  }
};

constexpr int64_t kMaxIndex32 = (int64_t{1} << 31) - 1;

// Whether indices, and with `offsets` the operands' offsets too, fit into 32 bits.
template <int kOperands>
bool fits_32_bits(const Axes<kOperands>& axes, bool offsets) {
  if (axes.count() > kMaxIndex32) return false;
  for (int k = 0; k < kOperands && offsets; ++k) {
    int64_t reach = 0;
    for (int d = 0; d < axes.n; ++d) reach += (axes.size[d] - 1) * magnitude(axes.stride[d][k]);
    if (reach > kMaxIndex32) return false;
  }
  return true;
}

// The outermost axis that can be cut.
template <int kOperands>
int outermost_axis(const Axes<kOperands>& axes) {
  int d = 0;
  while (d < axes.n - 1 && axes.size[d] == 1) ++d;
  return d;
}

// The axis that reaches farthest in memory.
template <int kOperands>
int farthest_axis(const Axes<kOperands>& axes) {
  int farthest = 0;
  int64_t reach = -1;
  for (int d = 0; d < axes.n; ++d) {
    int64_t widest = 1;
    for (int k = 0; k < kOperands; ++k) {
      const int64_t stride = magnitude(axes.stride[d][k]);
      widest = stride > widest ? stride : widest;
    }
    if ((axes.size[d] - 1) * widest > reach) farthest = d, reach = (axes.size[d] - 1) * widest;
  }
  return farthest;
}

// Calls body(piece) for pieces of a call that 32-bit arithmetic can index, so that no kernel needs
// a second version with 64-bit divisions. Almost every call is one piece. Where offsets do not
// matter, the innermost axis stays whole unless it is the only one. Stops at an error.
template <int kOperands, class Body>
int32_t for_each_piece(const Axes<kOperands>& axes, bool offsets, const Body& body) {
  if (fits_32_bits(axes, offsets)) return body(axes);
  constexpr int64_t kGrain = 1024;  // keeps the alignment of vectors
  const int d = offsets ? farthest_axis(axes) : outermost_axis(axes);
  const int64_t half = (axes.size[d] + 1) / 2;
  const int64_t cut = axes.size[d] > 2 * kGrain ? half / kGrain * kGrain : half;
  Axes<kOperands> piece = axes;
  piece.size[d] = cut;
  if (const int32_t code = for_each_piece(piece, offsets, body)) return code;
  piece.size[d] = axes.size[d] - cut;
  for (int k = 0; k < kOperands; ++k) piece.base[k] += cut * axes.stride[d][k];
  return for_each_piece(piece, offsets, body);
}

}  // namespace dt::cuda
