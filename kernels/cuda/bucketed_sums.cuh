// Sums over positions that choose their destinations, where neither are many times as many as the
// others: no sort, and one kernel, whose blocks are all there at once and wait for each other.
//
// A destination has a bucket of kBucketSlots slots. Positions are put into the buckets of the keys
// that they have, in whatever order they come; who adds up a bucket's slices takes them in the
// order of their positions, so the result is always the same: it follows from the keys and how
// operands lie, not from the device.
//
//            key 0        key 1        key 2       (with 4 slots)
//   slots  [5 2 _ _]    [9 1 7 4]    [_ _ _ _]    one bucket of each destination
//   counts     2            7            0        how many positions have the key
//
//   overflow       3 0 8 ...      positions that found no slot, of all keys
//   overflowing    1 ...          keys whose buckets ran over; each has a piece of
//   lists         [0 3 8][...]    the overflow key by key: that of a key from list_begins[key] on
//   heavy          ...            those of the overflowing keys with more than kMostSorted
//   positions
//
// A destination whose bucket did not run over is added up by a few threads (sum_buckets), one whose
// bucket did by a block, which sorts slots and list together (sum_overflowing). What is heavy is
// too long for a block to sort: all positions are cut into segments, a block walks through one in
// order and adds up those that have the key (sum_segments), and join_segments adds up these sums.
#pragma once

#include <algorithm>

#include "kernels/cuda/scratch.h"
#include "kernels/cuda/split_plan.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/cuda/together.cuh"

namespace dt::cuda {

constexpr int kBucketThreads = 256, kBucketBlocks = 3;  // blocks of a multiprocessor
constexpr int kBucketSlots = 16;                        // positions
constexpr int kMostSorted = 1024;                       // positions that a block puts in order
constexpr int kSegments = 128;                          // of positions, for heavy destinations

// What is known of positions and destinations.
struct Buckets {
  uint32_t positions, destinations;
  uint32_t* counts;       // [destinations]: of positions
  uint32_t* totals;       // [kTotals]: see Total
  uint32_t* keys;         // [positions]
  uint32_t* ranks;        // [positions]: how many came before with the key
  uint32_t* slots;        // [destinations][kBucketSlots]: positions
  uint32_t* overflow;     // [positions]: those that found no slot, in any order
  uint32_t* lists;        // [positions]: lists of overflowing destinations, one after another
  uint32_t* list_begins;  // [destinations]: where the list of an overflowing one begins
  uint32_t* overflowing;  // [positions / kBucketSlots]: destinations, in any order
  uint32_t* heavy;        // [positions / kMostSorted]: those of more than kMostSorted positions

  void* segment_sums;  // [kSegments][slice]: sums of segments, of heavy destinations

  enum Total { kOverflow, kOverflowing, kHeavy, kTotals };

  Buckets(Scratch* memory, int64_t positions, int64_t destinations, int64_t slice_bytes)
      : positions(static_cast<uint32_t>(positions)),
        destinations(static_cast<uint32_t>(destinations)) {
    for (uint32_t** each : {&counts, &list_begins}) *each = memory->take<uint32_t>(destinations);
    for (uint32_t** each : {&keys, &ranks, &overflow, &lists})
      *each = memory->take<uint32_t>(divide_up(positions, 4) * 4);
    slots = memory->take<uint32_t>(destinations * kBucketSlots);
    totals = memory->take<uint32_t>(kTotals);
    overflowing = memory->take<uint32_t>(divide_up(positions, kBucketSlots));
    heavy = memory->take<uint32_t>(divide_up(positions, kMostSorted));
    segment_sums = memory->take<char>(kSegments * slice_bytes);
  }

  // Whether that is sooner done than a sort: few buckets run over, and few are empty.
  static bool serve(int64_t positions, int64_t destinations, int64_t slice_bytes) {
    return positions <= kMostPositions && positions <= 2 * destinations &&
           destinations <= 4 * positions && destinations <= 2 * kMostPositions &&
           slice_bytes <= kMostBytes;
  }

 private:
  static constexpr int64_t kMostPositions = 1 << 17, kMostBytes = 1 << 10;
};

#ifdef __CUDACC__

// The number of a thread among those of all blocks, and how many these are.
__device__ __forceinline__ uint32_t thread_of_all() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ uint32_t all_threads() {
  return gridDim.x * blockDim.x;
}

// ---- who chooses what

__device__ __forceinline__ void empty_buckets(const Buckets& b) {
  for (uint32_t i = thread_of_all(); i < b.destinations; i += all_threads()) b.counts[i] = 0;
  if (thread_of_all() < Buckets::kTotals) b.totals[thread_of_all()] = 0;
}

template <class KeyOf>
__device__ __forceinline__ void fill_buckets(const Buckets& b, const KeyOf& key_of) {
  for (uint32_t position = thread_of_all(); position < b.positions; position += all_threads()) {
    const uint32_t key = key_of(position);
    b.keys[position] = key;
    if (key >= b.destinations) continue;  // a bad index
    const uint32_t rank = atomicAdd(b.counts + key, 1u);
    if (rank < kBucketSlots) {
      b.slots[uint64_t{key} * kBucketSlots + rank] = position;
      continue;
    }
    b.ranks[position] = rank;
    b.overflow[atomicAdd(b.totals + Buckets::kOverflow, 1u)] = position;
    if (rank == kBucketSlots) b.overflowing[atomicAdd(b.totals + Buckets::kOverflowing, 1u)] = key;
    if (rank == kMostSorted) b.heavy[atomicAdd(b.totals + Buckets::kHeavy, 1u)] = key;
  }
}

// Gives every overflowing destination its list. Where one begins is taken from the total of the
// overflow, which nobody needs to know then.
__device__ __forceinline__ void give_lists(const Buckets& b, uint32_t overflowing) {
  for (uint32_t i = thread_of_all(); i < overflowing; i += all_threads()) {
    const uint32_t key = b.overflowing[i], count = b.counts[key] - kBucketSlots;
    b.list_begins[key] = atomicSub(b.totals + Buckets::kOverflow, count) - count;
  }
}

__device__ __forceinline__ void fill_lists(const Buckets& b, uint32_t overflow) {
  for (uint32_t i = thread_of_all(); i < overflow; i += all_threads()) {
    const uint32_t position = b.overflow[i];
    b.lists[b.list_begins[b.keys[position]] + b.ranks[position] - kBucketSlots] = position;
  }
}

// ---- sums

// Slices are counted in packets of kWidth elements.
template <class T, int kWidth, class Op>
struct BucketedSums {
  using Part = Packet<T, kWidth>;
  static constexpr int width = kWidth;

  T* y;
  Values<T> values;
  Keys<2> key_of;
  Slice slice;
  Buckets buckets;
  int64_t unit, lowest;  // a destination is `lowest` + key * unit
  int64_t parts;
  int lanes;   // threads that have a slice together, a power of two up to a warp's
  bool fresh;  // nobody has written y, which consists of all destinations
  Op op;

  __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x) % lanes; }
  __device__ __forceinline__ int team() const { return static_cast<int>(threadIdx.x) / lanes; }
  __device__ __forceinline__ int teams() const { return kBucketThreads / lanes; }
  __device__ __forceinline__ Part& segment_sum(int64_t segment, int64_t part) const {
    return static_cast<Part*>(buckets.segment_sums)[segment * parts + part];
  }

  __device__ __forceinline__ void add(Part* sum, uint32_t position, int64_t from) const {
    add_part(op, sum, weighted_part(op, load(position, from)));
  }
  __device__ __forceinline__ Part load(uint32_t position, int64_t from) const {
    return values.template load<kWidth>(key_of.maker.positions.plain_at(position) + from);
  }
  // What lies `to` elements behind where a destination begins.
  __device__ __forceinline__ T* at(uint32_t key, int64_t to) const {
    return y + (static_cast<int64_t>(key) * unit + lowest + to);
  }
  __device__ __forceinline__ void write(uint32_t key, int64_t to, const Part& sum) const {
    add_to_slice(op, at(key, to), sum, fresh);
  }
};

// What is read of a bucket, its first slots at once: most have no more positions.
struct Bucket {
  uint32_t count;
  Packet<uint32_t, 4> first;
  const uint32_t* slots;

  __device__ __forceinline__ Bucket(const Buckets& b, uint32_t key)
      : count(b.counts[key]), slots(b.slots + uint64_t{key} * kBucketSlots) {
    first = load_packet<4>(slots);
  }

  // The lowest position that is not below `from`.
  __device__ __forceinline__ uint32_t next(uint32_t from) const {
    uint32_t lowest = lowest_of(first, 0, from, ~uint32_t{0});
    for (uint32_t i = 4; i < count; i += 4)
      lowest = lowest_of(load_packet<4>(slots + i), i, from, lowest);
    return lowest;
  }

 private:
  __device__ __forceinline__ uint32_t lowest_of(const Packet<uint32_t, 4>& four, uint32_t begin,
                                                uint32_t from, uint32_t lowest) const {
#pragma unroll
    for (uint32_t v = 0; v < 4; ++v) {
      if (begin + v < count && four.value[v] >= from) lowest = min(lowest, four.value[v]);
    }
    return lowest;
  }
};

// A thread's share of a destination: a few parts of its slice, `lanes` apart, whose loads are in
// flight together.
template <class A>
struct Parts {
  static constexpr int kTogether = A::width == 1 ? 4 : 1;
  int64_t from[kTogether], to[kTogether];
  typename A::Part sum[kTogether], before[kTogether];
  int count = 0;

  __device__ __forceinline__ Parts(const A& a, uint32_t key, int64_t first) {
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      if (first + t * a.lanes >= a.parts) break;
      a.slice.at((first + t * a.lanes) * A::width, &from[t], &to[t]);
      before[t] = {};
      if (!a.fresh) before[t] = load_packet<A::width>(a.at(key, to[t]));
      sum[t] = {};
      count = t + 1;
    }
  }

  // Adds what the positions of a bucket give, in their order.
  __device__ __forceinline__ void add(const A& a, const Bucket& bucket) {
    constexpr int kAtOnce = A::width == 1 ? 2 : 4;
    uint32_t next = 0;  // positions from here on are to be added
    for (uint32_t i = 0; i < bucket.count; i += kAtOnce) {
      typename A::Part part[kAtOnce][kTogether];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        if (i + j >= bucket.count) break;
        const uint32_t position = bucket.next(next);
        next = position + 1;
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
          if (t < count) part[j][t] = a.load(position, from[t]);
        }
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
          if (i + j < bucket.count) add_part(a.op, &sum[t], weighted_part(a.op, part[j][t]));
        }
      }
    }
  }

  __device__ __forceinline__ void store(const A& a, uint32_t key) {
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      if (t >= count) break;
      add_part(a.op, &before[t], sum[t]);
      store_packet(a.at(key, to[t]), before[t]);
    }
  }
};

// Teams take shares of destinations whose buckets did not run over: neighbours have the same
// destination.
template <class A>
__device__ __forceinline__ void sum_buckets(const A& a) {
  const int64_t span = int64_t{Parts<A>::kTogether} * a.lanes;
  const auto shares = static_cast<uint32_t>((a.parts + span - 1) / span);
  const uint32_t work = a.buckets.destinations * shares, step = gridDim.x * a.teams();
  const auto key_of = [&](uint32_t i) { return shares == 1 ? i : i / shares; };
  uint32_t i = blockIdx.x * a.teams() + a.team();
  if (i >= work) return;
  Bucket next(a.buckets, key_of(i));
  for (; i < work; i += step) {
    const Bucket bucket = next;
    const uint32_t key = key_of(i);
    if (i + step < work) next = Bucket(a.buckets, key_of(i + step));
    if (bucket.count > kBucketSlots || (bucket.count == 0 && !a.fresh)) continue;
    Parts<A> parts(a, key, (i - key * shares) * span + a.lane());
    parts.add(a, bucket);
    parts.store(a, key);
  }
}

// Positions in order, and sums of threads.
template <class Part>
struct BlockMemory {
  alignas(kPacketBytes) uint32_t unordered[kMostSorted];
  uint32_t position[kMostSorted];
  uint32_t of_warp[kBucketThreads / kWarp];
  Part sums[kBucketThreads];
};

// Adds up what teams have. The first team gets it.
template <class A>
__device__ __forceinline__ typename A::Part add_teams(const A& a, typename A::Part sum,
                                                      typename A::Part* sums) {
  for (int half = a.teams() / 2; half > 0; half /= 2) {
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (a.team() < half) add_part(a.op, &sum, sums[threadIdx.x + half * a.lanes]);
    __syncthreads();
  }
  return sum;
}

// Puts the positions of an overflowing destination in order: the place of one is how many are below
// it.
__device__ __forceinline__ void sort_positions(const Buckets& b, uint32_t key, uint32_t count,
                                               uint32_t* unordered, uint32_t* ordered) {
  const uint32_t* const slots = b.slots + uint64_t{key} * kBucketSlots;
  const uint32_t* const list = b.lists + b.list_begins[key];
  const uint32_t end = (count + 3) / 4 * 4;
  for (uint32_t i = threadIdx.x; i < end; i += kBucketThreads)
    unordered[i] = i < kBucketSlots ? slots[i] : i < count ? list[i - kBucketSlots] : ~uint32_t{0};
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += kBucketThreads) {
    const uint32_t position = unordered[i];
    uint32_t below = 0;
    for (uint32_t j = 0; j < end; j += 4) {
      const Packet<uint32_t, 4> four = load_packet<4>(unordered + j);
#pragma unroll
      for (int v = 0; v < 4; ++v) below += four.value[v] < position ? 1 : 0;
    }
    ordered[below] = position;
  }
  __syncthreads();
}

// Sums of one destination by a block, part by part of its slice: `add_to` adds to a thread's sum
// what its team is to add of a part, which begins `from` elements behind where positions do;
// `store` takes the block's sum. A thread whose part does not exist must come along to barriers.
template <class A, class AddTo, class Store>
__device__ __forceinline__ void sum_by_block(const A& a, typename A::Part* sums,
                                             const AddTo& add_to, const Store& store) {
  for (int64_t first = 0; first < a.parts; first += a.lanes) {
    const int64_t part = first + a.lane();
    const bool exists = part < a.parts;
    int64_t from = 0, to = 0;
    if (exists) a.slice.at(part * A::width, &from, &to);
    typename A::Part sum = {};
    add_to(&sum, exists, from);
    sum = add_teams(a, sum, sums);
    if (exists && a.team() == 0) store(part, to, sum);
  }
}

// Teams take turns with positions that lie in the block's memory, in order.
template <class A>
__device__ __forceinline__ void add_positions(const A& a, typename A::Part* sum,
                                              const uint32_t* positions, uint32_t count,
                                              int64_t from) {
#pragma unroll 4
  for (uint32_t p = a.team(); p < count; p += a.teams()) a.add(sum, positions[p], from);
}

// A block has an overflowing destination, unless that is heavy.
template <class A>
__device__ __forceinline__ void sum_overflowing(const A& a, uint32_t overflowing,
                                                BlockMemory<typename A::Part>* memory) {
  using Part = typename A::Part;
  for (uint32_t i = blockIdx.x; i < overflowing; i += gridDim.x) {
    const uint32_t key = a.buckets.overflowing[i], count = a.buckets.counts[key];
    if (count > kMostSorted) continue;
    sort_positions(a.buckets, key, count, memory->unordered, memory->position);
    sum_by_block(
        a, memory->sums,
        [&](Part* sum, bool exists, int64_t from) {
          if (exists) add_positions(a, sum, memory->position, count, from);
        },
        [&](int64_t, int64_t to, const Part& sum) { a.write(key, to, sum); });
  }
}

// ---- heavy destinations

// Finds those of kBucketThreads positions from `begin` on, below `end`, that choose a destination,
// in order. Returns how many. All threads of the block call it, and again only behind a barrier.
template <class Part>
__device__ __forceinline__ uint32_t find_chosen(const Buckets& b, uint32_t key, uint32_t begin,
                                                uint32_t end, BlockMemory<Part>* memory) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp;
  const uint32_t position = begin + thread;
  const bool is_chosen = position < end && b.keys[position] == key;
  const uint32_t chosen = __ballot_sync(0xffffffffu, is_chosen);
  if (thread % kWarp == 0) memory->of_warp[warp] = __popc(chosen);
  __syncthreads();
  uint32_t place = __popc(chosen & ((uint32_t{1} << thread % kWarp) - 1)), all = 0;
#pragma unroll
  for (int w = 0; w < kBucketThreads / kWarp; ++w) {
    if (w < warp) place += memory->of_warp[w];
    all += memory->of_warp[w];
  }
  if (is_chosen) memory->position[place] = position;
  __syncthreads();
  return all;
}

// Segments of positions are summed by a block each.
struct Segments {
  uint32_t of_key, length;

  __device__ __forceinline__ Segments(uint32_t positions, uint32_t heavy)
      : of_key(heavy < kSegments ? kSegments / heavy : 1),
        length((positions + of_key - 1) / of_key) {}
};

template <class A>
__device__ __forceinline__ void sum_segments(const A& a, uint32_t heavy, const Segments& segments,
                                             BlockMemory<typename A::Part>* memory) {
  using Part = typename A::Part;
  const Buckets& b = a.buckets;
  for (uint32_t i = blockIdx.x; i < heavy * segments.of_key; i += gridDim.x) {
    const uint32_t key = b.heavy[i / segments.of_key];
    const uint32_t begin = min(i % segments.of_key * segments.length, b.positions);
    const uint32_t end = min(begin + segments.length, b.positions);
    sum_by_block(
        a, memory->sums,
        [&](Part* sum, bool exists, int64_t from) {
          for (uint32_t some = begin; some < end; some += kBucketThreads) {
            const uint32_t count = find_chosen(b, key, some, end, memory);
            if (exists) add_positions(a, sum, memory->position, count, from);
            __syncthreads();
          }
        },
        [&](int64_t part, int64_t, const Part& sum) { a.segment_sum(i, part) = sum; });
  }
}

// Joins the sums of segments. Their order is that of the positions.
template <class A>
__device__ __forceinline__ void join_segments(const A& a, uint32_t heavy,
                                              const Segments& segments) {
  const int64_t work = heavy * a.parts;
  for (int64_t i = thread_of_all(); i < work; i += all_threads()) {
    const int64_t number = i / a.parts, part = i - number * a.parts;
    int64_t from, to;
    a.slice.at(part * A::width, &from, &to);
    typename A::Part sum = {};
    for (uint32_t s = 0; s < segments.of_key; ++s)
      add_part(a.op, &sum, a.segment_sum(number * segments.of_key + s, part));
    a.write(a.buckets.heavy[number], to, sum);
  }
}

// Blocks that are all there at once: see launch_together.
template <class A>
__global__ void __launch_bounds__(kBucketThreads, kBucketBlocks)
    sum_in_buckets(const __grid_constant__ A a) {
  begin_kernel();
  __shared__ BlockMemory<typename A::Part> memory;
  const auto all = cooperative_groups::this_grid();
  const Buckets& b = a.buckets;
  empty_buckets(b);
  all.sync();
  fill_buckets(b, a.key_of);
  all.sync();
  const uint32_t overflow = b.totals[Buckets::kOverflow],
                 overflowing = b.totals[Buckets::kOverflowing];
  const uint32_t heavy = b.totals[Buckets::kHeavy];
  if (overflowing > 0) {
    all.sync();  // all have read the totals
    give_lists(b, overflowing);
    all.sync();
    fill_lists(b, overflow);
    all.sync();
    sum_overflowing(a, overflowing, &memory);
  }
  if (heavy > 0) {
    const Segments segments(b.positions, heavy);
    sum_segments(a, heavy, segments, &memory);
    all.sync();
    join_segments(a, heavy, segments);
  }
  sum_buckets(a);
}

#endif

}  // namespace dt::cuda
