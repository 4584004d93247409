// A stable radix sort of few keys and their positions, one kernel per digit (radix_sort.cu).
#pragma once

#include <algorithm>

#include "kernels/cuda/scratch.h"

namespace dt::cuda {

constexpr int kMaxDigitBits = 9;
constexpr int kMaxDigits = 1 << kMaxDigitBits;

constexpr int kSortThreads = kMaxDigits;  // each also has a digit to look after
constexpr int kMaxSortItems = 8;          // pairs of a thread
constexpr int64_t kMaxSortTiles = 64;     // each block adds up the counts of all

inline bool are_few_pairs(int64_t count) {
  return count <= kMaxSortTiles * kSortThreads * kMaxSortItems;
}

// How keys are cut into digits and positions into tiles, and how often each digit occurs in each
// tile. Whoever makes the keys counts their lowest digits and makes the other counts zero.
struct DigitCounts {
  uint32_t* data = nullptr;  // [digits of a key][tiles][values of a digit]
  int tiles = 0, tile_pairs = 0, digits = 0, digit_bits = 0;

  DigitCounts() = default;

  // Tiles are as small as may be: many multiprocessors share the work.
  DigitCounts(int64_t pairs, int key_bits) : tile_pairs(kSortThreads) {
    while (tile_pairs * kMaxSortTiles < pairs) tile_pairs *= 2;
    tiles = static_cast<int>(divide_up(pairs, tile_pairs));
    const int64_t fewest = divide_up(key_bits, kMaxDigitBits);
    digit_bits = std::max(static_cast<int>(divide_up(key_bits, fewest)), kMinDigitBits);
    digits = static_cast<int>(divide_up(key_bits, digit_bits));
  }

  int64_t size() const { return int64_t{digits} * tiles * values(); }

  __host__ __device__ __forceinline__ int values() const { return 1 << digit_bits; }
  __device__ __forceinline__ uint32_t digit_of(uint32_t key, int digit) const {
    return key >> (digit * digit_bits) & (values() - 1);
  }
  __device__ __forceinline__ uint32_t* of(int digit, uint32_t tile) const {
    return data + ((static_cast<int64_t>(digit) * tiles + tile) << digit_bits);
  }

 private:
  static constexpr int kMinDigitBits = 7;  // a warp or more reads the counts of a tile
};

// A key and its position, which travel together.
struct alignas(8) SortPair {
  uint32_t key, position;
};

struct SortMemory {
  const uint32_t* unsorted;  // keys; that of number i has position i
  SortPair* between[2];      // what one digit's kernel leaves to the next
  uint32_t *keys, *order;    // the result
};

struct FewPairs {
  uint32_t* unsorted;
  SortMemory memory;
  DigitCounts counts;

  FewPairs(Scratch* scratch, int64_t count, int key_bits) : counts(count, key_bits) {
    memory.unsorted = unsorted = scratch->take<uint32_t>(count);
    for (SortPair*& pairs : memory.between) pairs = scratch->take<SortPair>(count);
    memory.keys = scratch->take<uint32_t>(count);
    memory.order = scratch->take<uint32_t>(count);
    counts.data = scratch->take<uint32_t>(counts.size());
  }
};

// Sorts keys that are there already.
int32_t sort_digits(const dt_stream* stream, const SortMemory& memory, uint32_t count,
                    const DigitCounts& counts);

#ifdef __CUDACC__
constexpr int kKeyThreads = 1024;

// Makes the keys of a tile and counts their lowest digits.
template <class KeyOfPosition>
__global__ void __launch_bounds__(kKeyThreads)
    make_keys(uint32_t* keys, KeyOfPosition key_of, uint32_t count, DigitCounts counts) {
  begin_kernel();
  __shared__ uint32_t lowest_digits[kMaxDigits];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kMaxDigits) lowest_digits[thread] = 0;
  __syncthreads();
  const uint32_t begin = blockIdx.x * counts.tile_pairs;
  const uint32_t end = min(count, begin + counts.tile_pairs);
  for (uint32_t position = begin + thread; position < end; position += kKeyThreads) {
    const uint32_t key = key_of(position);
    keys[position] = key;
    atomicAdd(&lowest_digits[counts.digit_of(key, 0)], 1u);
  }
  __syncthreads();
  if (thread >= counts.values()) return;
  counts.of(0, blockIdx.x)[thread] = lowest_digits[thread];
  for (int d = 1; d < counts.digits; ++d) counts.of(d, blockIdx.x)[thread] = 0;
}

// Sorts positions 0 to count - 1 by key_of(position).
template <class KeyOfPosition>
int32_t sort_few(const dt_stream* stream, const FewPairs& few, uint32_t count,
                 const KeyOfPosition& key_of) {
  if (const int32_t code =
          launch(stream, make_keys<KeyOfPosition>, static_cast<unsigned>(few.counts.tiles),
                 kKeyThreads, 0, few.unsorted, key_of, count, few.counts))
    return code;
  return sort_digits(stream, few.memory, count, few.counts);
}
#endif

}  // namespace dt::cuda
