// Sums over positions that choose their destinations, where both are few: one kernel instead of a
// sort and two more. A block owns some destinations. It looks at the keys of all positions, puts
// those of its own destinations in order, and adds up their slices. Nobody else writes there, and
// the order is that of the positions, so the result is always the same: it follows from the keys
// and the shapes, not from the device.
//
// As long as a block has all keys in its registers, that costs less than one more kernel would.
// Destinations are dealt out in turns, so that positions which choose neighbours are spread over
// blocks.
#pragma once

#include <algorithm>

#include "kernels/cuda/sorted_writes.cuh"
#include "kernels/cuda/team.cuh"

namespace dt::cuda {

constexpr int kOwnerThreads = 1024, kOwnerWarps = kOwnerThreads / kWarp;
constexpr int kOwnerKeys = 5;                          // of a thread
constexpr int kMostKeys = kOwnerThreads * kOwnerKeys;  // 16 bits hold their numbers and counts
constexpr int kMostOwned = 256;                        // destinations of a block

// How destinations and slices are dealt out. Slices are counted in packets of `width` elements.
struct OwnerShape {
  int64_t parts, groups, owners;
  int lanes;

  // Whether positions and destinations are few enough. What is left to one block, if all positions
  // choose the same destination, takes it as long as other kernels take to begin. Where most
  // destinations are chosen by nobody, blocks of a sort have less to do.
  static bool can(int64_t positions, int64_t destinations, int64_t slice_bytes) {
    return positions <= kMostKeys && positions * slice_bytes <= kMostBytes &&
           destinations <= kMostDestinations && destinations * slice_bytes <= kMostBytes;
  }

  OwnerShape(int64_t positions, int64_t destinations, int64_t slice, int64_t width,
             int64_t element_bytes)
      : parts(slice / width), lanes(1) {
    const int64_t line = std::max<int64_t>(kLineBytes / (width * element_bytes), 1);
    while (lanes < parts && lanes < std::min<int64_t>(line, kWarp)) lanes *= 2;
    const int64_t fewest = divide_up(destinations, kMostOwned);
    const int64_t bytes = (positions + destinations) * slice * element_bytes;
    const int64_t enough = std::clamp(bytes / kBlockBytes, fewest, kEnoughBlocks);
    groups = std::min(divide_up(parts, lanes), enough / fewest);
    owners = std::min(std::max(fewest, enough / groups), destinations);
  }
  int64_t blocks() const { return owners * groups; }

 private:
  static constexpr int64_t kEnoughBlocks = 128;    // which run at the same time
  static constexpr int64_t kBlockBytes = 4 << 10;  // worth a block
  static constexpr int64_t kMostDestinations = 8192, kMostBytes = 4 << 20, kLineBytes = 128;
  static_assert(kMostDestinations <= kEnoughBlocks * kMostOwned, "every destination has an owner");
};

#ifdef __CUDACC__

// A position's key and plain offset are key_of's.
template <class T, int kWidth, class Op, class KeyOf>
struct OwnedSums {
  using Part = Packet<T, kWidth>;
  static constexpr int width = kWidth;

  T* y;
  Values<T> values;
  KeyOf key_of;
  Slice slice;
  FastDivide by_owners;
  uint32_t count, destinations, owners, groups;
  int64_t unit, lowest;  // a destination is `lowest` + key * unit
  int64_t parts;
  int lanes;
  bool fresh;  // nobody has written y, which consists of all destinations
  Op op;

  __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x) % lanes; }
  __device__ __forceinline__ int team() const { return static_cast<int>(threadIdx.x) / lanes; }
  __device__ __forceinline__ int teams() const { return kOwnerThreads / lanes; }
  __device__ __forceinline__ uint32_t owner() const { return blockIdx.x / groups; }
  __device__ __forceinline__ int64_t first_part() const {
    return static_cast<int64_t>(blockIdx.x % groups) * lanes;
  }
  __device__ __forceinline__ int64_t part_step() const {
    return static_cast<int64_t>(groups) * lanes;
  }
  // How many destinations the block owns.
  __device__ __forceinline__ uint32_t owned() const {
    return (destinations - owner() + owners - 1) / owners;
  }
  // Which of the block's destinations a position chooses; kMostOwned if none.
  __device__ __forceinline__ uint32_t slot_of(uint32_t position) const {
    if (position >= count) return kMostOwned;
    const uint32_t key = key_of(position), slot = by_owners.divide(key);
    return key < destinations && key - slot * owners == owner() ? slot : kMostOwned;
  }

  __device__ __forceinline__ void add(Part* sum, const Part& part) const {
    add_part(op, sum, part);
  }
  // Adds to the part of a slot's slice that lies `to` elements behind where the slice begins.
  __device__ __forceinline__ void add_to_y(uint32_t slot, int64_t to, const Part& sum) const {
    const int64_t key = slot * owners + owner();
    add_to_slice(op, y + (key * unit + lowest + to), sum, fresh);
  }
};

// What a block knows: for each of its destinations, how many of a warp's positions choose it, then
// how many of the warps before it; where its positions begin in `order`. When they are in order,
// the counts give way to sums of threads.
struct OwnerMemory {
  union alignas(kPacketBytes) {
    uint16_t of_warp[kOwnerWarps][kMostOwned];
    char sums[kOwnerThreads * kPacketBytes];
  };
  uint16_t order[kMostKeys];
  uint32_t begin[kMostOwned + 1];
  uint32_t totals[kMostOwned / kWarp];
};

// How many of the warp's positions before each have the same slot; leaves how many there are.
__device__ __forceinline__ void rank_slots(const uint32_t (&slot)[kOwnerKeys], uint16_t* counts,
                                           uint32_t (&rank)[kOwnerKeys]) {
  const uint32_t lower_lanes = (uint32_t{1} << threadIdx.x % kWarp) - 1;
#pragma unroll
  for (int i = 0; i < kOwnerKeys; ++i) {
    const bool is_own = slot[i] < kMostOwned;
    rank[i] = 0;
    if (!__any_sync(0xffffffffu, is_own)) continue;
    const uint32_t alike = __match_any_sync(0xffffffffu, slot[i]);
    const uint32_t lower = __popc(alike & lower_lanes);
    if (is_own) rank[i] = counts[slot[i]] + lower;
    __syncwarp();
    if (is_own && lower == 0) counts[slot[i]] = static_cast<uint16_t>(rank[i] + __popc(alike));
    __syncwarp();
  }
}

// Runs that a team adds up by itself are not longer. The other teams have nothing else to do where
// the block owns few destinations.
__device__ __forceinline__ uint32_t longest_run(uint32_t owned) {
  return owned <= 2 ? 8 : 64;
}

// Turns the counts of warps into what comes before them, and finds where slots begin. Returns
// whether one of them has a long run.
__device__ __forceinline__ bool place_slots(OwnerMemory* memory, uint32_t longest) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp;
  uint32_t all = 0, inclusive = 0;
  if (thread < kMostOwned) {
#pragma unroll 8
    for (int w = 0; w < kOwnerWarps; ++w) {
      const uint32_t here = memory->of_warp[w][thread];
      memory->of_warp[w][thread] = static_cast<uint16_t>(all);
      all += here;
    }
    inclusive = inclusive_over_lanes(all);
    if (thread % kWarp == kWarp - 1) memory->totals[warp] = inclusive;
  }
  __syncthreads();
  if (thread < kMostOwned) {
    for (int w = 0; w < warp; ++w) inclusive += memory->totals[w];
    memory->begin[thread + 1] = inclusive;
    if (thread == 0) memory->begin[0] = 0;
  }
  return __syncthreads_or(all > longest);
}

// Puts the positions that choose the block's destinations in order. Returns whether one of these
// has a long run.
template <class A>
__device__ __forceinline__ bool order_positions(const A& a, OwnerMemory* memory) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint32_t number = warp * (kOwnerKeys * kWarp) + lane;  // of the thread's first position
  uint32_t slot[kOwnerKeys], rank[kOwnerKeys];
#pragma unroll
  for (int i = 0; i < kOwnerKeys; ++i) slot[i] = a.slot_of(number + i * kWarp);
  uint16_t* const counts = memory->of_warp[warp];
#pragma unroll
  for (int i = 0; i < kMostOwned / kWarp; ++i) counts[i * kWarp + lane] = 0;
  __syncwarp();
  rank_slots(slot, counts, rank);
  __syncthreads();
  const bool has_long_runs = place_slots(memory, longest_run(a.owned()));
#pragma unroll
  for (int i = 0; i < kOwnerKeys; ++i) {
    if (slot[i] >= kMostOwned) continue;
    const uint32_t place = memory->begin[slot[i]] + counts[slot[i]] + rank[i];
    memory->order[place] = static_cast<uint16_t>(number + i * kWarp);
  }
  __syncthreads();
  return has_long_runs;
}

// Adds up every step-th position of a run from `begin` on.
template <class A>
__device__ __forceinline__ typename A::Part add_run(const A& a, const uint16_t* order,
                                                    uint32_t begin, uint32_t end, uint32_t step,
                                                    int64_t from) {
  constexpr int kAtOnce = 4;
  typename A::Part sum = {};
  for (uint32_t i = begin; i < end; i += kAtOnce * step) {
    typename A::Part part[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      if (i + j * step >= end) break;
      const int64_t offset = a.key_of.maker.positions.plain_at(uint32_t{order[i + j * step]});
      part[j] = a.values.template load<A::width>(offset + from);
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      if (i + j * step >= end) break;
      a.add(&sum, weighted_part(a.op, part[j]));
    }
  }
  return sum;
}

// Teams take destinations in turns. Those with a long run are left.
template <class A>
__device__ __forceinline__ void add_short_runs(const A& a, const OwnerMemory& memory) {
  for (uint32_t slot = a.team(); slot < a.owned(); slot += a.teams()) {
    const uint32_t begin = memory.begin[slot], end = memory.begin[slot + 1];
    if (end - begin > longest_run(a.owned()) || (begin == end && !a.fresh)) continue;
    for (int64_t part = a.first_part() + a.lane(); part < a.parts; part += a.part_step()) {
      int64_t from, to;
      a.slice.at(part * A::width, &from, &to);
      a.add_to_y(slot, to, add_run(a, memory.order, begin, end, 1, from));
    }
  }
}

// All teams add up a long run together.
template <class A>
__device__ __forceinline__ void add_long_run(const A& a, uint32_t slot, OwnerMemory* memory) {
  using Part = typename A::Part;
  static_assert(sizeof(Part) <= kPacketBytes, "sums of threads fit");
  Part* const sums = reinterpret_cast<Part*>(memory->sums);
  for (int64_t part = a.first_part(); part < a.parts; part += a.part_step()) {
    const bool exists = part + a.lane() < a.parts;
    int64_t from = 0, to = 0;
    Part sum = {};
    if (exists) {
      a.slice.at((part + a.lane()) * A::width, &from, &to);
      sum = add_run(a, memory->order, memory->begin[slot] + a.team(), memory->begin[slot + 1],
                    a.teams(), from);
    }
    for (int half = a.teams() / 2; half > 0; half /= 2) {
      sums[threadIdx.x] = sum;
      __syncthreads();
      if (a.team() < half) a.add(&sum, sums[threadIdx.x + half * a.lanes]);
      __syncthreads();
    }
    if (exists && a.team() == 0) a.add_to_y(slot, to, sum);
  }
}

template <class A>
__global__ void __launch_bounds__(kOwnerThreads, 1) sum_owned(const __grid_constant__ A a) {
  begin_kernel();
  __shared__ OwnerMemory memory;
  const bool has_long_runs = order_positions(a, &memory);
  add_short_runs(a, memory);
  for (uint32_t slot = 0; has_long_runs && slot < a.owned(); ++slot) {
    if (memory.begin[slot + 1] - memory.begin[slot] > longest_run(a.owned()))
      add_long_run(a, slot, &memory);
  }
}

#endif

}  // namespace dt::cuda
