// A stable radix sort of few keys and their positions, from the lowest digit to the highest.
//
// Sorting some ten thousand pairs takes as long as its kernels take to follow each other; bytes
// hardly matter. So there is one kernel per digit, and tiles are small: what takes longest in a
// kernel are the writes to scattered places, of which a multiprocessor does one at a time. Where
// the pairs of a tile go follows from how often each digit occurs in each tile, which every block
// adds up by itself: little work while tiles are few. As a pair is moved, its next digit is counted
// in the tile that it comes to. Counts are integers: the order in which they grow does not matter.
#include "kernels/cuda/radix_sort.cuh"

#include "kernels/cuda/packet.cuh"
#include "kernels/cuda/shuffle.cuh"
#include "kernels/cuda/team.cuh"

namespace dt::cuda {
namespace {

constexpr int kWarps = kSortThreads / kWarp;

// One digit's sort.
struct DigitSort {
  const uint32_t* keys;   // what the first digit's sort reads: positions are the keys' numbers
  const SortPair* pairs;  // what the others read
  SortPair* to_pairs;     // what all but the last write
  uint32_t *to_keys, *to_order;
  uint32_t count;
  DigitCounts counts;
  int digit;

  __device__ __forceinline__ SortPair load(uint32_t from) const {
    return digit == 0 ? SortPair{keys[from], from} : pairs[from];
  }

  template <int kTilePairs>
  __device__ __forceinline__ void store(uint32_t to, const SortPair& pair) const {
    if (digit + 1 == counts.digits) {
      to_keys[to] = pair.key;
      to_order[to] = pair.position;
      return;
    }
    to_pairs[to] = pair;
    atomicAdd(counts.of(digit + 1, to / kTilePairs) + counts.digit_of(pair.key, digit + 1), 1u);
  }
};

// How often digits occur in all tiles, and in those before the block's. Threads side by side read
// the counts of a tile in packets, and groups of threads take tiles in turns; here each group has a
// row of sums, [groups][values of a digit].
constexpr int kTogether = 4;

struct DigitTotals {
  uint32_t all[kSortThreads * kTogether], earlier[kSortThreads * kTogether];
};

// The counts that a thread adds up: all are asked for at once.
struct TileCounts {
  static constexpr int kTiles = kMaxSortTiles * kMaxDigits / kTogether / kSortThreads;
  Packet<uint32_t, kTogether> of_tile[kTiles];
  int group, groups;

  __device__ __forceinline__ int tile(int i) const { return group + i * groups; }

  __device__ __forceinline__ explicit TileCounts(const DigitSort& sort) {
    const int across = sort.counts.values() / kTogether, thread = static_cast<int>(threadIdx.x);
    const int first = thread % across * kTogether;
    group = thread / across, groups = kSortThreads / across;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      of_tile[i] = {};
      if (tile(i) < sort.counts.tiles)
        of_tile[i] = load_packet<kTogether>(sort.counts.of(sort.digit, tile(i)) + first);
    }
  }

  __device__ __forceinline__ void add_up(DigitTotals* totals) const {
    Packet<uint32_t, kTogether> all = {}, earlier = {};
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const bool is_earlier = tile(i) < static_cast<int>(blockIdx.x);
#pragma unroll
      for (int v = 0; v < kTogether; ++v) {
        all.value[v] += of_tile[i].value[v];
        earlier.value[v] += is_earlier ? of_tile[i].value[v] : 0;
      }
    }
    store_packet(totals->all + threadIdx.x * kTogether, all);
    store_packet(totals->earlier + threadIdx.x * kTogether, earlier);
  }
};

// The lanes whose digit is the same as this one's.
__device__ __forceinline__ uint32_t lanes_with(uint32_t digit) {
  uint32_t lanes = kAllLanes;
#pragma unroll
  for (int bit = 0; bit < kMaxDigitBits; ++bit) {
    const bool is_set = (digit >> bit & 1) != 0;
    const uint32_t set = __ballot_sync(kAllLanes, is_set);
    lanes &= is_set ? set : ~set;
  }
  return lanes;
}

// How many pairs of the warp with the same digit come before each. `counts`, zero at first, in the
// end says how many the warp has of each digit.
template <int kItems>
__device__ __forceinline__ void rank_in_warp(const uint32_t (&digit)[kItems], uint16_t* counts,
                                             uint32_t (&rank)[kItems]) {
  const uint32_t lower_lanes = (uint32_t{1} << threadIdx.x % kWarp) - 1;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const uint32_t lanes = lanes_with(digit[i]);
    const uint32_t lower = __popc(lanes & lower_lanes);
    rank[i] = counts[digit[i]] + lower;
    __syncwarp();
    if (lower == 0) counts[digit[i]] = static_cast<uint16_t>(rank[i] + __popc(lanes));
    __syncwarp();
  }
}

// Where pairs of this tile begin whose digit is the thread's number: behind all lower digits, and
// behind the same one in earlier tiles.
__device__ __forceinline__ uint32_t place_of_digit(const DigitTotals& totals, int values) {
  __shared__ uint32_t of_warp[kWarps];
  uint32_t all = 0, earlier = 0;
  if (static_cast<int>(threadIdx.x) < values) {
    for (int i = static_cast<int>(threadIdx.x); i < kSortThreads * kTogether; i += values)
      all += totals.all[i], earlier += totals.earlier[i];
  }
  const uint32_t inclusive = inclusive_over_lanes(all);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (threadIdx.x % kWarp == kWarp - 1) of_warp[warp] = inclusive;
  __syncthreads();
  uint32_t lower = inclusive - all;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) lower += w < warp ? of_warp[w] : 0;
  return lower + earlier;
}

// Block x sorts tile x. Each warp has consecutive pairs, which its lanes take in turns.
template <int kItems>
__global__ void __launch_bounds__(kSortThreads, 1) sort_digit(DigitSort sort) {
  begin_kernel();
  __shared__ DigitTotals totals;
  __shared__ uint32_t places[kMaxDigits];
  // How many pairs of a digit a warp has; then, how many the warps before it have.
  __shared__ uint16_t of_warp[kWarps][kMaxDigits];
  constexpr int kTilePairs = kSortThreads * kItems;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const uint32_t first = blockIdx.x * kTilePairs + warp * (kItems * kWarp) + lane;
  SortPair pair[kItems];
  uint32_t digit[kItems], rank[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    pair[i] = {};  // what does not exist is behind all others: it harms no rank
    if (first + i * kWarp < sort.count) pair[i] = sort.load(first + i * kWarp);
    digit[i] = sort.counts.digit_of(pair[i].key, sort.digit);
  }
  const TileCounts counts(sort);
  for (int d = lane; d < kMaxDigits; d += kWarp) of_warp[warp][d] = 0;
  __syncwarp();
  rank_in_warp(digit, of_warp[warp], rank);  // while the counts are on their way
  counts.add_up(&totals);
  __syncthreads();
  places[thread] = place_of_digit(totals, sort.counts.values());
  uint32_t before = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const uint32_t count = of_warp[w][thread];
    of_warp[w][thread] = static_cast<uint16_t>(before);
    before += count;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (first + i * kWarp >= sort.count) break;
    sort.store<kTilePairs>(places[digit[i]] + of_warp[warp][digit[i]] + rank[i], pair[i]);
  }
}

template <int kItems>
int32_t sort_by_digit(const dt_stream* stream, const DigitSort& sort) {
  return launch(stream, sort_digit<kItems>, static_cast<unsigned>(sort.counts.tiles), kSortThreads,
                0, sort);
}

}  // namespace

int32_t sort_digits(const dt_stream* stream, const SortMemory& memory, uint32_t count,
                    const DigitCounts& counts) {
  for (int digit = 0; digit < counts.digits; ++digit) {
    const DigitSort sort = {memory.unsorted,
                            memory.between[1 - digit % 2],
                            memory.between[digit % 2],
                            memory.keys,
                            memory.order,
                            count,
                            counts,
                            digit};
    int32_t code = DT_KERNEL_UNSUPPORTED;
    switch (counts.tile_pairs / kSortThreads) {
      case 1:
        code = sort_by_digit<1>(stream, sort);
        break;
      case 2:
        code = sort_by_digit<2>(stream, sort);
        break;
      case 4:
        code = sort_by_digit<4>(stream, sort);
        break;
      case kMaxSortItems:
        code = sort_by_digit<kMaxSortItems>(stream, sort);
        break;
    }
    if (code != DT_KERNEL_OK) return code;
  }
  return DT_KERNEL_OK;
}

}  // namespace dt::cuda
