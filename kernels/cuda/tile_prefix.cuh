// Prefixes over tiles in one pass: every tile has a block, which makes its total known and looks
// back at those of the tiles before it (Merrill and Garland, "Single-pass parallel prefix scan with
// decoupled look-back", 2016). There a block joins what it happens to find, here always the same:
// 32 tiles are a group and 32 groups a span, and totals are joined group by group and span by span.
// So bits do not depend on which block was faster.
//
// Blocks take tiles in order, by a ticket, and announce a total before they wait for those of lower
// tiles: whoever is waited for is running already.
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

// A value of 64 bits in two halves with a mark above each, so that either can be seen to be there.
struct alignas(16) Announcement {
  uint64_t half[2];
};

// For every line [tiles], [groups] and [spans + 1]: what a tile and a group give, and what all that
// is before a span gives. Zero at first, like the ticket.
struct TileTree {
  uint32_t* ticket;
  Announcement* announced;
  int64_t lines, tiles;  // of a line

  TileTree(int64_t lines, int64_t tiles)
      : ticket(nullptr), announced(nullptr), lines(lines), tiles(tiles) {}

  __host__ __device__ int64_t groups() const { return (tiles + kWarp - 1) / kWarp; }
  __host__ __device__ int64_t spans() const { return tiles / (kWarp * kWarp) + 1; }
  __host__ __device__ int64_t per_line() const { return tiles + groups() + spans(); }
  int64_t bytes() const {
    return static_cast<int64_t>(sizeof(Announcement)) * (lines * per_line() + 1);
  }

  int32_t clear(const dt_stream* stream, void* workspace) {
    ticket = static_cast<uint32_t*>(workspace);
    announced = static_cast<Announcement*>(workspace) + 1;
    if (const cudaError_t error = set_device(stream->device))
      return check(error, "cudaSetDevice", stream->fault);
    return check(cudaMemsetAsync(workspace, 0, static_cast<size_t>(bytes()), native_stream(stream)),
                 "cudaMemsetAsync", stream->fault);
  }
};

#ifdef __CUDACC__

constexpr uint32_t kAllLanes = 0xffffffffu;

__device__ __forceinline__ int lane_number() {
  return static_cast<int>(threadIdx.x % kWarp);
}

// What the lanes up to this one give together. kLanes that are neighbours are by themselves.
template <class Fold, int kLanes = kWarp, class Sum>
__device__ __forceinline__ Sum inclusive(Sum value) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    const Sum before = __shfl_up_sync(kAllLanes, value, step, kLanes);
    if (lane_number() % kLanes >= step) value = Fold::join(before, value);
  }
  return value;
}

// What the lanes before give, from the inclusive values.
template <class Fold, int kLanes = kWarp, class Sum>
__device__ __forceinline__ Sum exclusive(Sum inclusive) {
  const Sum before = __shfl_up_sync(kAllLanes, inclusive, 1, kLanes);
  return lane_number() % kLanes == 0 ? Fold::nothing() : before;
}

template <class Sum>
__device__ __forceinline__ void announce(Announcement* to, Sum value) {
  static_assert(sizeof(Sum) == sizeof(uint64_t), "an announcement has 64 bits");
  constexpr uint64_t kMark = uint64_t{1} << 32;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (lane_number() != 0) return;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
               "l"((bits & 0xffffffffu) | kMark), "l"(bits >> 32 | kMark)
               : "memory");
}

// Announcements that the lanes of a warp wait for, one each. They are asked for at once; join()
// waits.
template <class Fold>
class Awaited {
 public:
  using Sum = typename Fold::Value;

  // The first `count` from `from` on, not more than there are lanes.
  __device__ __forceinline__ Awaited(const Announcement* from, int count)
      : from_(from + lane_number()), exists_(lane_number() < count) {
    if (exists_) ask();
  }

  // What they give in their order. The whole warp calls it.
  __device__ __forceinline__ Sum join() {
    while (__any_sync(kAllLanes, exists_ && !is_there())) {
      if (exists_ && !is_there()) ask();
    }
    const uint64_t bits = (low_ & 0xffffffffu) | high_ << 32;
    Sum value;
    memcpy(&value, &bits, sizeof bits);
    return __shfl_sync(kAllLanes, inclusive<Fold>(exists_ ? value : Fold::nothing()), kWarp - 1);
  }

 private:
  __device__ __forceinline__ void ask() {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(low_), "=l"(high_)
                 : "l"(__cvta_generic_to_global(from_))
                 : "memory");
  }
  __device__ __forceinline__ bool is_there() const { return (low_ & high_) >> 32 != 0; }

  const Announcement* from_;
  bool exists_;
  uint64_t low_ = 0, high_ = 0;
};

// The number of the block's tile, counted through all lines. All threads ask and get it.
__device__ __forceinline__ uint32_t take_ticket(const TileTree& tree) {
  __shared__ uint32_t ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(tree.ticket, 1u);
  __syncthreads();
  return ticket;
}

// What the tiles of a line before this one give, whose own total is announced. A whole warp calls
// it, one of each block.
template <class Fold, class Sum>
__device__ __forceinline__ Sum tile_prefix(const TileTree& tree, int64_t line, int64_t tile,
                                           Sum total) {
  const int64_t group = tile / kWarp, span = group / kWarp;
  const int in_group = static_cast<int>(tile % kWarp), in_span = static_cast<int>(group % kWarp);
  Announcement* const tiles = tree.announced + line * tree.per_line();
  Announcement* const groups = tiles + tree.tiles;
  Announcement* const spans = groups + tree.groups();
  announce(tiles + tile, total);
  Awaited<Fold> of_tiles(tiles + group * kWarp, in_group);
  Awaited<Fold> of_groups(groups + span * kWarp, in_span);
  Awaited<Fold> of_spans(spans + span, span > 0 ? 1 : 0);
  const Sum before_in_group = of_tiles.join(), up_to_here = Fold::join(before_in_group, total);
  if (in_group == kWarp - 1) announce(groups + group, up_to_here);
  const Sum before_in_span = of_groups.join();
  const Sum before_group = Fold::join(of_spans.join(), before_in_span);
  if (in_group == kWarp - 1 && in_span == kWarp - 1)
    announce(spans + span + 1, Fold::join(before_group, up_to_here));
  return Fold::join(before_group, before_in_group);
}

#endif

}  // namespace dt::cuda
