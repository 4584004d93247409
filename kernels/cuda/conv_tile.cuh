// What the kernels for few channels share: pieces of images in shared memory.
#pragma once

#include "kernels/cuda/conv.h"
#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

constexpr int kQuad = 4;  // neighbouring pixels of a row, which one thread computes together

// A tensor of floats as kernels see it. Sizes are small enough for int.
struct Plane {
  float* data;
  int64_t n, c, h, w;  // strides
  int count, channels, height, width;

  explicit Plane(const Images& x)
      : data(static_cast<float*>(x.data)),
        n(x.strides[0]),
        c(x.strides[1]),
        h(x.strides[2]),
        w(x.strides[3]),
        count(static_cast<int>(x.sizes[0])),
        channels(static_cast<int>(x.sizes[1])),
        height(static_cast<int>(x.sizes[2])),
        width(static_cast<int>(x.sizes[3])) {}
};

// A box of one image: some channels, rows and columns from (c0, h0, w0), and where it lies in
// shared memory.
struct Box {
  int c0, h0, w0, channels, rows, cols;
  int row_pitch, plane_pitch;
};

// Copies a box to shared memory, with zeros where it reaches out of the image. A warp takes a row
// at a time, so what depends on the row is computed once.
__device__ __forceinline__ void stage(const Plane& x, int n, const Box& box, float* to) {
  const int lane = threadIdx.x % kWarp, warps = blockDim.x / kWarp;
  const float* image = x.data + n * x.n;
#pragma unroll 4
  for (int line = threadIdx.x / kWarp; line < box.channels * box.rows; line += warps) {
    const int c = line / box.rows, r = line % box.rows;
    const int h = box.h0 + r;
    const bool row_inside = box.c0 + c < x.channels && h >= 0 && h < x.height;
    const float* row = image + (box.c0 + c) * x.c + h * x.h;
    float* target = to + c * box.plane_pitch + r * box.row_pitch;
    for (int col = lane; col < box.cols; col += kWarp) {
      const int w = box.w0 + col;
      target[col] = row_inside && w >= 0 && w < x.width ? __ldg(row + w * x.w) : 0.0f;
    }
  }
}

// The kQuad + kTaps - 1 inputs that a quad of outputs reads in one row. `from` is 16-byte aligned.
template <int kTaps>
__device__ __forceinline__ void read_row(const float* from, float (&to)[kQuad + kTaps - 1]) {
  const float4 head = *reinterpret_cast<const float4*>(from);
  to[0] = head.x, to[1] = head.y, to[2] = head.z, to[3] = head.w;
#pragma unroll
  for (int i = 0; i < kTaps - 1; i += 2) {
    const float2 tail = *reinterpret_cast<const float2*>(from + kQuad + i);
    to[kQuad + i] = tail.x, to[kQuad + i + 1] = tail.y;
  }
}

// Columns of a staged row for `quads` quads, so that every row starts at a multiple of 16 bytes.
template <int kTaps>
constexpr int row_pitch(int quads) {
  return (quads * kQuad + kTaps - 1 + 3) / 4 * 4;
}

inline int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

constexpr size_t kSharedBytes = 48 * 1024;  // what every device gives without being asked

}  // namespace dt::cuda
