// What the host knows of an elementwise kernel. Planning needs neither the formula nor the
// arithmetic type, so it is compiled once (pointwise.cu); the kernels themselves are in
// pointwise_kernel.cuh.
#pragma once

#include "kernels/calls/pointwise.h"
#include "kernels/cuda/offsets.cuh"
#include "kernels/dtype.h"

namespace dt::cuda {

constexpr int kMaxPointwiseIn = 4, kMaxPointwiseOut = 3;
constexpr int kMaxPointwise = kMaxPointwiseIn + kMaxPointwiseOut;
constexpr int kMaxParameters = calls::PointwiseAttributes::kMax;
constexpr int kPointwiseThreads = 256;
// Where a block walks through a tile, its threads have kWalkRows x kWalkColumns elements at a time,
// and a warp four rows of eight: as many as fill a sector of memory either way.
constexpr int kWalkColumns = 32, kWalkRows = kPointwiseThreads / kWalkColumns;
constexpr int kWarpColumns = 8, kWarpRows = kWarp / kWarpColumns;

// A number in the arithmetic type of a kernel.
struct Number {
  uint64_t bits = 0;

  template <class T>
  __device__ __forceinline__ T as() const {
    Stored<T> value;
    memcpy(&value, &bits, sizeof value);
    return static_cast<T>(value);
  }
};

// The last two axes, walked in tiles: where one operand is dense along the last axis and another
// along the one before, the elements of a tile lie in whole sectors of both.
struct TileWalk {
  uint32_t rows = 0, columns = 0;  // no rows: elements follow each other
  FastDivide tiles, row_tiles;     // of a matrix, and side by side along its columns
};

// A kernel's parameters. Operands are the outputs, then the inputs; indices count packets or
// elements.
struct PointwiseCall {
  uint32_t count;
  uint32_t head, tail;  // single elements before the first packet, and behind the last one
  uint32_t splat;       // bit k: operand k is one element for a whole packet
  uint32_t apart;       // bit k: input k is dense, but begins at no packet's boundary
  uint32_t narrow;      // bit k: operand k is narrower than the arithmetic
  bool plain;           // packets of all operands follow each other, and all inputs are as narrow
  Number parameters[kMaxParameters];
  Number number[kMaxPointwiseIn];  // values of immediate inputs
  void* data[kMaxPointwise];       // null: an unwanted output, or an immediate input; behind `head`
  int32_t dtype[kMaxPointwise];
  Offsets<kMaxPointwise, uint32_t, int32_t> offsets;
  TileWalk walk;  // of the kernel for any strides
};

using PointwiseKernel = void(PointwiseCall);

// A kernel for operands that are dense in packets, or one element for each packet.
struct PacketKernel {
  PointwiseKernel* function;
  int width;    // elements in a packet
  int packets;  // of each operand that a thread handles
};

struct Pointwise {
  int n_in, n_out;
  uint32_t bool_in;  // bit i: input i is a truth value
  bool bool_out;
  int32_t dtype;             // of the arithmetic
  PacketKernel own;          // all operands are of the arithmetic's own dtypes
  PacketKernel narrow[2];    // or of narrow ones of one byte or two, as many as fill an access; no
                             // function where there are none
  PointwiseKernel* general;  // any dtypes and strides
  int elements;              // that a thread of `general` handles
};

// Runs a call; see kernels/calls/pointwise.h.
int32_t run_pointwise(const dt_stream* stream, const calls::Pointwise& call, const Pointwise& op);
// The same for an op without attributes. `dtypes`, if given, are read in place of those of the
// views (outputs, then inputs): a copy moves floats as integers.
int32_t run_pointwise(const dt_stream* stream, const dt_view* out, const dt_view* in,
                      const Pointwise& op, const int32_t* dtypes = nullptr);

}  // namespace dt::cuda
