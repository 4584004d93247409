// What the kernels for few channels share: pieces of images in shared memory.
#pragma once

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/conv.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/offsets.cuh"

namespace dt::cuda {

// A tensor of floats as kernels see it. Offsets within an image are small enough for int; the
// stride of a dimension without neighbours, which may be anything, becomes 0.
struct Plane {
  float* data;
  int64_t n;  // strides
  int c, h, w;
  int count, channels, height, width;

  explicit Plane(const Images& x)
      : data(static_cast<float*>(x.data)),
        n(x.strides[0]),
        c(stride(x, 1)),
        h(stride(x, 2)),
        w(stride(x, 3)),
        count(static_cast<int>(x.sizes[0])),
        channels(static_cast<int>(x.sizes[1])),
        height(static_cast<int>(x.sizes[2])),
        width(static_cast<int>(x.sizes[3])) {}

 private:
  static int stride(const Images& x, int d) {
    return x.sizes[d] > 1 ? static_cast<int>(x.strides[d]) : 0;
  }
};

// Whether 32 bits hold the number of elements and the offsets in an image, also of what tiles have
// beyond its edges.
inline bool is_small(const Images& x) {
  constexpr double kBeyond = 160;
  double elements = 1, reach = 0;
  for (int d = 0; d < 4; ++d) {
    elements *= x.sizes[d];
    if (d > 0) reach += magnitude(x.strides[d]) * (x.sizes[d] + (d > 1 ? kBeyond : 0));
  }
  return elements <= kMaxIndex32 && reach <= kMaxIndex32;
}

// Whether rows can be moved in accesses of `floats` floats.
inline bool has_vectors(const Plane& x, int floats) {
  return x.w == 1 && x.width % floats == 0 && x.h % floats == 0 && x.c % floats == 0 &&
         x.n % floats == 0 && reinterpret_cast<uintptr_t>(x.data) % (floats * sizeof(float)) == 0;
}

// Rows and columns of one image, of some channels, in shared memory.
struct Box {
  int rows, row_pitch, plane_pitch;
};

// How the threads of a block copy such boxes out of a tensor. Rows are copied in pieces; a thread
// keeps its piece and takes every `lines`-th row of all channels, so that it divides once and then
// adds: a step, or a wrap when it passes the end of a channel.
struct BoxCopy {
  FastDivide by_pieces, by_rows;
  Box box;
  int lines, row_step, source_step, source_wrap, target_step, target_wrap;

  BoxCopy() = default;
  BoxCopy(const Plane& x, const Box& to, int pieces, int threads)
      : by_pieces(pieces), by_rows(to.rows), box(to), lines(threads / pieces) {
    const int channel_step = lines / box.rows;
    row_step = lines % box.rows;
    source_step = channel_step * x.c + row_step * x.h;
    source_wrap = source_step + x.c - box.rows * x.h;
    target_step = channel_step * box.plane_pitch + row_step * box.row_pitch;
    target_wrap = target_step + box.plane_pitch - box.rows * box.row_pitch;
  }
};

// What a thread copies of every box: its first piece, relative to the box's first element.
struct Share {
  int row, column;
  int source, target;  // offsets; a thread too many has no target

  __device__ Share(const Plane& x, const BoxCopy& copy, int floats) {
    const int line = copy.by_pieces.divide(threadIdx.x), channel = copy.by_rows.divide(line);
    row = line - channel * copy.box.rows;
    column = (threadIdx.x - line * copy.by_pieces.divisor) * floats;
    source = channel * x.c + row * x.h + column * x.w;
    target = channel * copy.box.plane_pitch + row * copy.box.row_pitch + column;
    if (line >= copy.lines) target = -1;
  }
};

// Starts to copy `channels` channels of a box to shared memory, kFloats floats at a time. Its first
// element is `origin`, in row h and column w of the image; what is beyond the image is zero.
template <int kFloats>
__device__ __forceinline__ void stage_by(const Plane& x, const float* origin, int h, int w,
                                         int channels, const BoxCopy& copy, const Share& share,
                                         float* to) {
  constexpr int kBatch = 4;  // copies between two branches
  const bool column_inside =
      static_cast<unsigned>(w + share.column) < static_cast<unsigned>(x.width);
  const int h_end = h + copy.box.rows;
  h += share.row;
  const float* from = origin + share.source;
  float* target = to + share.target;
  const float* const end = to + channels * copy.box.plane_pitch;
  while (target < end) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const bool row_inside = static_cast<unsigned>(h) < static_cast<unsigned>(x.height);
      if (target < end)
        copy_async<kFloats * sizeof(float)>(target, from, row_inside && column_inside);
      h += copy.row_step;
      const bool wraps = h >= h_end;
      from += wraps ? copy.source_wrap : copy.source_step;
      target += wraps ? copy.target_wrap : copy.target_step;
      h -= wraps ? copy.box.rows : 0;
    }
  }
}

// The same for 1, 2 or 4 floats at a time: all addresses are multiples of so many.
__device__ __forceinline__ void stage(const Plane& x, const float* origin, int h, int w,
                                      int channels, const BoxCopy& copy, const Share& share,
                                      int floats, float* to) {
  if (share.target < 0) return;
  if (floats == 4)
    stage_by<4>(x, origin, h, w, channels, copy, share, to);
  else if (floats == 2)
    stage_by<2>(x, origin, h, w, channels, copy, share, to);
  else
    stage_by<1>(x, origin, h, w, channels, copy, share, to);
}

// Columns that lie in shared memory before those that are read. With the usual padding of
// kTaps / 2, column 0 of the image then lies at a multiple of 16 bytes, as it does in the image.
template <int kTaps>
constexpr int kLead = 4 - kTaps / 2;

// How many floats a copy can move, if boxes begin `before` columns before multiples of `tile`
// columns.
inline int floats_of_copies(const Plane& x, int before, int tile) {
  for (int floats : {4, 2}) {
    if (before % floats == 0 && tile % floats == 0 && has_vectors(x, floats)) return floats;
  }
  return 1;
}

__host__ __device__ inline int ceil_divide(int a, int b) {
  return (a + b - 1) / b;
}

inline int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

constexpr int kSharedBytes = 48 * 1024;  // what every device gives without being asked

}  // namespace dt::cuda
