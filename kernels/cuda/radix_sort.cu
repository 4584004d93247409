// A stable radix sort of few pairs of a key and a position, from the lowest digit to the highest.
//
// Sorting some ten thousand pairs takes as long as its kernels take to follow each other; bytes
// hardly matter. So there is one kernel per digit, and tiles are small, to keep many
// multiprocessors busy. Where the pairs of a tile go follows from how often each digit occurs in
// each tile, which every block adds up by itself: little work while tiles are few. As a pair is
// moved, its next digit is counted in the tile that it comes to. Counts are integers: the order in
// which they grow does not matter.
#include "kernels/cuda/radix_sort.h"

#include "kernels/cuda/team.cuh"

namespace dt::cuda {
namespace {

constexpr int kSortThreads = kDigits;  // each also has a digit to look after
constexpr int kWarps = kSortThreads / kWarp;
constexpr int kItems = kSortTile / kSortThreads;  // pairs of a thread
constexpr uint32_t kAllLanes = 0xffffffffu;

// One digit's sort.
struct DigitSort {
  const uint32_t *keys, *order;
  uint32_t *sorted_keys, *sorted_order;
  uint32_t count;
  DigitCounts counts;
  int digit;

  __device__ __forceinline__ bool is_last() const { return digit + 1 == counts.digits; }
};

__device__ __forceinline__ uint32_t digit_of(uint32_t key, int digit) {
  return key >> (digit * kDigitBits) & (kDigits - 1);
}

// The lanes whose digit is the same as this one's.
__device__ __forceinline__ uint32_t lanes_with(uint32_t digit) {
  uint32_t lanes = kAllLanes;
#pragma unroll
  for (int bit = 0; bit < kDigitBits; ++bit) {
    const bool is_set = (digit >> bit & 1) != 0;
    const uint32_t set = __ballot_sync(kAllLanes, is_set);
    lanes &= is_set ? set : ~set;
  }
  return lanes;
}

// How many pairs of the warp with the same digit come before each. `counts`, zero at first, in the
// end says how many the warp has of each digit.
__device__ __forceinline__ void rank_in_warp(const uint32_t (&digit)[kItems], uint32_t* counts,
                                             uint32_t (&rank)[kItems]) {
  const uint32_t lower_lanes = (uint32_t{1} << threadIdx.x % kWarp) - 1;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const uint32_t lanes = lanes_with(digit[i]);
    const uint32_t lower = __popc(lanes & lower_lanes);
    rank[i] = counts[digit[i]] + lower;
    __syncwarp();
    if (lower == 0) counts[digit[i]] = rank[i] + __popc(lanes);
    __syncwarp();
  }
}

// Where pairs of this tile begin whose digit is the thread's number: behind all lower digits, and
// behind the same one in earlier tiles.
__device__ __forceinline__ uint32_t place_of_digit(const DigitSort& sort) {
  __shared__ uint32_t of_warp[kWarps];
  uint32_t all = 0, earlier = 0;
#pragma unroll 16
  for (int tile = 0; tile < sort.counts.tiles; ++tile) {
    const uint32_t here = sort.counts.of(sort.digit, tile)[threadIdx.x];
    all += here;
    if (tile < static_cast<int>(blockIdx.x)) earlier += here;
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
__global__ void __launch_bounds__(kSortThreads) sort_digit(DigitSort sort) {
  begin_kernel();
  __shared__ uint32_t places[kWarps][kDigits];  // at first, how many pairs of a digit a warp has
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = threadIdx.x % kWarp;
  const uint32_t first = blockIdx.x * kSortTile + warp * (kItems * kWarp) + lane;
  uint32_t key[kItems], position[kItems], digit[kItems], rank[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const uint32_t from = first + i * kWarp;
    const bool exists = from < sort.count;  // what does not is behind all others: it harms no rank
    key[i] = exists ? sort.keys[from] : 0;
    position[i] = exists ? sort.order[from] : 0;
    digit[i] = digit_of(key[i], sort.digit);
  }
  for (int d = lane; d < kDigits; d += kWarp) places[warp][d] = 0;
  uint32_t place = place_of_digit(sort);
  rank_in_warp(digit, places[warp], rank);
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const uint32_t count = places[w][threadIdx.x];
    places[w][threadIdx.x] = place;
    place += count;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (first + i * kWarp >= sort.count) break;
    const uint32_t to = places[warp][digit[i]] + rank[i];
    sort.sorted_keys[to] = key[i];
    sort.sorted_order[to] = position[i];
    if (sort.is_last()) continue;
    const int next = sort.digit + 1;
    atomicAdd(sort.counts.of(next, to / kSortTile) + digit_of(key[i], next), 1u);
  }
}

}  // namespace

int32_t sort_few(const dt_stream* stream, uint32_t* const (&keys)[2], uint32_t* const (&order)[2],
                 uint32_t count, const DigitCounts& counts) {
  const dim3 grid(static_cast<unsigned>(counts.tiles));
  for (int digit = 0; digit < counts.digits; ++digit) {
    const int from = digit % 2, to = 1 - from;
    const DigitSort sort = {keys[from], order[from], keys[to], order[to], count, counts, digit};
    const int32_t code = launch(stream, sort_digit, grid, kSortThreads, 0, sort);
    if (code != DT_KERNEL_OK) return code;
  }
  return DT_KERNEL_OK;
}

}  // namespace dt::cuda
