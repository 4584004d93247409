// A stable radix sort of few pairs of a key and a position, one kernel per digit (radix_sort.cu).
#pragma once

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {

constexpr int kDigitBits = 9;
constexpr int kDigits = 1 << kDigitBits;

constexpr int kSortTile = 2048;         // pairs that a block sorts
constexpr int64_t kMaxSortTiles = 128;  // each block reads the counts of all

// How often each digit occurs in each tile. Whoever makes the keys counts their lowest digits and
// makes the other counts zero.
struct DigitCounts {
  uint32_t* data = nullptr;  // [digits of a key][tiles][kDigits]
  int tiles = 0, digits = 0;

  int64_t size() const { return int64_t{digits} * tiles * kDigits; }

#ifdef __CUDACC__
  __device__ __forceinline__ uint32_t* of(int digit, uint32_t tile) const {
    return data + (static_cast<int64_t>(digit) * tiles + tile) * kDigits;
  }
#endif
};

inline bool are_few_pairs(int64_t count) {
  return count <= kMaxSortTiles * kSortTile;
}

// The counts that `pairs` pairs need whose keys have `bits` bits.
inline DigitCounts digit_counts(int64_t pairs, int bits) {
  DigitCounts counts;
  counts.tiles = static_cast<int>(divide_up(pairs, kSortTile));
  counts.digits = static_cast<int>(divide_up(bits, kDigitBits));
  return counts;
}

// Sorts keys[0] and order[0] back and forth, a digit at a time: the result is in keys[digits % 2]
// and order[digits % 2].
int32_t sort_few(const dt_stream* stream, uint32_t* const (&keys)[2], uint32_t* const (&order)[2],
                 uint32_t count, const DigitCounts& counts);

}  // namespace dt::cuda
