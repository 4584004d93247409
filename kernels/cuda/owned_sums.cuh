// Sums over positions that choose their destinations, where both are few. A block owns some
// destinations. It looks at positions, round by round, puts those that choose its own destinations
// in order, and adds up their slices. Nobody else writes there, and the order is that of the
// positions, so the result is always the same: it follows from the keys and the shape of a slice,
// not from how many blocks there are.
//
// Of few positions every block looks at all: that costs less than one more kernel would. More of
// them are dealt out first, by one digit's sort. Destinations are dealt out in turns, so that
// positions which choose neighbours are spread over blocks.
#pragma once

#include <algorithm>

#include "kernels/cuda/sorted_writes.cuh"
#include "kernels/cuda/team.cuh"

namespace dt::cuda {

constexpr int kOwnerThreads = 1024, kOwnerWarps = kOwnerThreads / kWarp;
constexpr int kOwnerKeys = 8;                           // of a thread in a round
constexpr int kRoundKeys = kOwnerThreads * kOwnerKeys;  // 16 bits hold their numbers and counts
constexpr int kMostOwned = 256;                         // destinations of a block

// How destinations and slices are dealt out. Slices are counted in packets of `width` elements.
struct OwnerShape {
  int64_t parts, groups, owners;
  int lanes;

  // Whether positions and destinations are few enough. What is left to one block, if all positions
  // choose the same destination, should not take it much longer than all blocks of a sort.
  static bool can(int64_t positions, int64_t destinations, int64_t slice_bytes) {
    return positions <= kMostDealt && positions * slice_bytes <= int64_t{16} << 20 &&
           destinations <= kMostOwners * kMostOwned;
  }
  // Whether positions are dealt out, and the bits of a key that then say to whom.
  static bool deals(int64_t positions) { return positions > 2 * kRoundKeys; }
  static constexpr int kOwnerBits = 8;

  OwnerShape(int64_t positions, int64_t destinations, int64_t slice, int64_t width,
             int64_t element_bytes)
      : parts(slice / width), lanes(1) {
    const int64_t line = std::max<int64_t>(kLineBytes / (width * element_bytes), 1);
    while (lanes < parts && lanes < std::min<int64_t>(line, kWarp)) lanes *= 2;
    const int64_t fewest = divide_up(destinations, kMostOwned);
    groups = std::min(divide_up(parts, lanes), divide_up(kEnoughBlocks, fewest));
    owners = std::min(std::max(fewest, divide_up(kEnoughBlocks, groups)), destinations);
    if (deals(positions)) owners = kMostOwners, groups = 1;
  }
  int64_t blocks() const { return owners * groups; }

 private:
  static constexpr int64_t kMostOwners = 1 << kOwnerBits, kEnoughBlocks = 128, kLineBytes = 128;
  static constexpr int64_t kMostDealt = 1 << 17;
};

#ifdef __CUDACC__

// The positions that a block looks at have numbers from begin() to end().
struct Range {
  uint32_t begin, end;
};

// All of them.
template <class KeyOf>
struct AllPositions {
  KeyOf key_of;
  uint32_t count;

  __device__ __forceinline__ Range of(uint32_t) const { return {0, count}; }
  __device__ __forceinline__ uint32_t key(uint32_t number) const { return key_of(number); }
  __device__ __forceinline__ uint32_t position(uint32_t number) const { return number; }
};

// Those whose keys, sorted by their lowest bits, have the owner's.
template <class KeyOf>
struct DealtPositions {
  KeyOf key_of;
  uint32_t count;
  const uint32_t *keys, *order;

  __device__ __forceinline__ Range of(uint32_t owner) const {
    return {first_of(owner), first_of(owner + 1)};
  }
  __device__ __forceinline__ uint32_t key(uint32_t number) const { return keys[number]; }
  __device__ __forceinline__ uint32_t position(uint32_t number) const { return order[number]; }

 private:
  // How many belong to lower owners. All threads of a block ask.
  __device__ __forceinline__ uint32_t first_of(uint32_t owner) const {
    const auto is_lower = [&](uint32_t number) {
      return number < count && (keys[number] & ((1 << OwnerShape::kOwnerBits) - 1)) < owner;
    };
    const uint32_t step = (count + kOwnerThreads - 1) / kOwnerThreads;
    const uint32_t lower = __syncthreads_count(is_lower(threadIdx.x * step));
    const uint32_t begin = lower > 0 ? (lower - 1) * step : 0;
    uint32_t more = 0;
    for (uint32_t i = 0; i < step; i += kOwnerThreads)
      more += __syncthreads_count(i + threadIdx.x < step && is_lower(begin + i + threadIdx.x));
    return lower > 0 ? begin + more : 0;
  }
};

template <class T, int kWidth, class Op, class Positions>
struct OwnedSums {
  using Part = Packet<T, kWidth>;
  static constexpr int width = kWidth;

  T* y;
  Values<T> values;
  Positions positions;
  Slice slice;
  FastDivide by_owners;
  uint32_t destinations, owners, groups;
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
  __device__ __forceinline__ uint32_t slot_of(uint32_t number, uint32_t end) const {
    if (number >= end) return kMostOwned;
    const uint32_t key = positions.key(number), slot = by_owners.divide(key);
    return key < destinations && key - slot * owners == owner() ? slot : kMostOwned;
  }

  // Where a position's slice begins in the plain operand.
  __device__ __forceinline__ int64_t plain_at(uint32_t number) const {
    return positions.key_of.maker.positions.plain_at(positions.position(number));
  }

  __device__ __forceinline__ void add(Part* sum, const Part& part) const {
#pragma unroll
    for (int v = 0; v < kWidth; ++v) sum->value[v] = Op::add(sum->value[v], part.value[v]);
  }
  // Adds to the part of a slot's slice that lies `to` elements behind where the slice begins.
  __device__ __forceinline__ void add_to_y(uint32_t slot, int64_t to, bool first,
                                           const Part& sum) const {
    T* const at = y + (static_cast<int64_t>(slot * owners + owner()) * unit + lowest + to);
    Part total = first ? Part{} : load_packet<kWidth>(at);
    add(&total, sum);
    store_packet(at, total);
  }
};

// What a block knows of a round: for each of its destinations, how many of a warp's positions
// choose it, then how many of the warps before it; where its positions begin in `order`; numbers of
// positions in the round. When they are in order, the counts give way to sums of threads.
struct OwnerRound {
  union alignas(kPacketBytes) {
    uint16_t of_warp[kOwnerWarps][kMostOwned];
    char sums[kOwnerThreads * kPacketBytes];
  };
  uint16_t order[kRoundKeys];
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

// Turns the counts of warps into what comes before them, and finds where slots begin.
__device__ __forceinline__ void place_slots(OwnerRound* round) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp;
  uint32_t all = 0, inclusive = 0;
  if (thread < kMostOwned) {
#pragma unroll 8
    for (int w = 0; w < kOwnerWarps; ++w) {
      const uint32_t here = round->of_warp[w][thread];
      round->of_warp[w][thread] = static_cast<uint16_t>(all);
      all += here;
    }
    inclusive = inclusive_over_lanes(all);
    if (thread % kWarp == kWarp - 1) round->totals[warp] = inclusive;
  }
  __syncthreads();
  if (thread < kMostOwned) {
    for (int w = 0; w < warp; ++w) inclusive += round->totals[w];
    round->begin[thread + 1] = inclusive;
    if (thread == 0) round->begin[0] = 0;
  }
  __syncthreads();
}

// Puts the positions of a round that choose the block's destinations in order.
template <class A>
__device__ __forceinline__ void order_round(const A& a, uint32_t first, uint32_t end,
                                            OwnerRound* round) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint32_t number = warp * (kOwnerKeys * kWarp) + lane;  // of the thread's first position
  uint32_t slot[kOwnerKeys], rank[kOwnerKeys];
#pragma unroll
  for (int i = 0; i < kOwnerKeys; ++i) slot[i] = a.slot_of(first + number + i * kWarp, end);
  uint16_t* const counts = round->of_warp[warp];
#pragma unroll
  for (int i = 0; i < kMostOwned / kWarp; ++i) counts[i * kWarp + lane] = 0;
  __syncwarp();
  rank_slots(slot, counts, rank);
  __syncthreads();
  place_slots(round);
#pragma unroll
  for (int i = 0; i < kOwnerKeys; ++i) {
    if (slot[i] >= kMostOwned) continue;
    const uint32_t place = round->begin[slot[i]] + counts[slot[i]] + rank[i];
    round->order[place] = static_cast<uint16_t>(number + i * kWarp);
  }
  __syncthreads();
}

// Adds up every step-th position of a run from `begin` on.
template <class A>
__device__ __forceinline__ typename A::Part add_run(const A& a, uint32_t first,
                                                    const uint16_t* order, uint32_t begin,
                                                    uint32_t end, uint32_t step, int64_t from) {
  constexpr int kAtOnce = 4;
  typename A::Part sum = {};
  for (uint32_t i = begin; i < end; i += kAtOnce * step) {
    typename A::Part part[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      if (i + j * step >= end) break;
      const int64_t offset = a.plain_at(first + order[i + j * step]);
      part[j] = a.values.template load<A::width>(offset + from);
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      if (i + j * step >= end) break;
#pragma unroll
      for (int v = 0; v < A::width; ++v) part[j].value[v] = a.op.weigh(part[j].value[v]);
      a.add(&sum, part[j]);
    }
  }
  return sum;
}

// Runs that a team adds up by itself are not longer.
constexpr uint32_t kLongRun = 64;

// Teams take destinations in turns. Those with a long run are left. `is_fresh`: y has not been
// written.
template <class A>
__device__ __forceinline__ void add_short_runs(const A& a, uint32_t first, bool is_fresh,
                                               const OwnerRound& round) {
  for (uint32_t slot = a.team(); slot < a.owned(); slot += a.teams()) {
    const uint32_t begin = round.begin[slot], end = round.begin[slot + 1];
    if (end - begin > kLongRun || (begin == end && !is_fresh)) continue;
    for (int64_t part = a.first_part() + a.lane(); part < a.parts; part += a.part_step()) {
      int64_t from, to;
      a.slice.at(part * A::width, &from, &to);
      a.add_to_y(slot, to, is_fresh, add_run(a, first, round.order, begin, end, 1, from));
    }
  }
}

// All teams add up a long run together.
template <class A>
__device__ __forceinline__ void add_long_run(const A& a, uint32_t first, bool is_fresh,
                                             uint32_t slot, OwnerRound* round) {
  using Part = typename A::Part;
  static_assert(sizeof(Part) <= kPacketBytes, "sums of threads fit");
  Part* const sums = reinterpret_cast<Part*>(round->sums);
  for (int64_t part = a.first_part(); part < a.parts; part += a.part_step()) {
    const bool exists = part + a.lane() < a.parts;
    int64_t from = 0, to = 0;
    Part sum = {};
    if (exists) {
      a.slice.at((part + a.lane()) * A::width, &from, &to);
      sum = add_run(a, first, round->order, round->begin[slot] + a.team(), round->begin[slot + 1],
                    a.teams(), from);
    }
    for (int half = a.teams() / 2; half > 0; half /= 2) {
      sums[threadIdx.x] = sum;
      __syncthreads();
      if (a.team() < half) a.add(&sum, sums[threadIdx.x + half * a.lanes]);
      __syncthreads();
    }
    if (exists && a.team() == 0) a.add_to_y(slot, to, is_fresh, sum);
  }
}

template <class A>
__global__ void __launch_bounds__(kOwnerThreads, 1) sum_owned(const __grid_constant__ A a) {
  begin_kernel();
  __shared__ OwnerRound round;
  const Range range = a.positions.of(a.owner());
  bool is_fresh = a.fresh;
  uint32_t first = range.begin;
  do {
    order_round(a, first, range.end, &round);
    add_short_runs(a, first, is_fresh, round);
    for (uint32_t slot = 0; slot < a.owned(); ++slot) {
      if (round.begin[slot + 1] - round.begin[slot] > kLongRun)
        add_long_run(a, first, is_fresh, slot, &round);
    }
    __syncthreads();
    is_fresh = false;
    first += kRoundKeys;
  } while (first < range.end);
}

#endif

}  // namespace dt::cuda
