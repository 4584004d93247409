// Dropout of attention's weights, whose numbers are those of the dropout kernel on a matrix of all
// weights: a function of the place alone, so that forward and backward agree whatever their blocks.
//
// A Philox block is for four keys of a query, and in sums of products (see tensor_core.cuh) these
// belong to several lanes. Each lane makes one block for each tile, and lanes exchange what they
// need: bits that say which weights are kept, 4 j + i of them for element i of tile j.
#pragma once

#include "kernels/cuda/types.cuh"
#include "kernels/philox.h"

namespace dt::cuda {

class WeightDropout {
 public:
  // `state` may be null: then all weights are kept.
  WeightDropout(const dt_view* state, int64_t advance, double p, const dt_view& query,
                const dt_view& key)
      : state_(state ? static_cast<const uint64_t*>(state->data) : nullptr),
        advance_(static_cast<uint64_t>(advance)),
        last_dropped_((static_cast<uint32_t>(philox::threshold(p)) << 8) - 1),
        factor_(state ? static_cast<float>(1 / (1 - p)) : 1.0f),
        heads_(static_cast<int>(query.sizes[1])),
        queries_(static_cast<int>(query.sizes[2])),
        keys_(static_cast<int>(key.sizes[2])) {}

  __device__ __forceinline__ bool drops() const { return state_ != nullptr; }
  // Of the weights that are kept.
  __device__ __forceinline__ float factor() const { return factor_; }

  // Which of a warp's sums are kept, of queries from `query` on and keys from `key` on, a multiple
  // of 4: rows are queries, or keys if kOfKeys.
  template <bool kOfKeys, int kTiles>
  __device__ __forceinline__ uint32_t kept(int b, int h, int query, int key) const {
    const int lane = threadIdx.x % 32;
    const uint64_t row = (uint64_t(b) * heads_ + h) * queries_ + query;
    if constexpr (kOfKeys) {
      // Four lanes have four keys of rows and as many 8 rows on, each with two queries.
      const int number = lane / 4 % 4;
      const uint64_t first = (row + lane % 4 * 2 + number % 2) * keys_ + key + lane / 16 * 4;
      uint32_t bits = blocks<kTiles>(first + number / 2 * 8, 8 * uint64_t(keys_));
      bits = exchanged<4, 1>(bits);
      return exchanged<8, 2>(bits);
    } else {
      // Two lanes have four keys of a query, and of the one that is 8 rows on.
      const uint64_t first = (row + lane / 4 + lane % 2 * 8) * keys_ + key + lane % 4 / 2 * 4;
      return exchanged<1, 2>(blocks<kTiles>(first, 8));
    }
  }

 private:
  // Four bits for each tile: whether an element and the three behind it are kept. Elements of one
  // tile and the next are `step` apart, a multiple of 8. Rounds are a loop, which takes less room,
  // and some blocks go through it together, so that none waits for its own arithmetic.
  template <int kTiles>
  __device__ __forceinline__ uint32_t blocks(uint64_t element, uint64_t step) const {
    constexpr int kTogether = 4;
    static_assert(kTiles % kTogether == 0 && kTiles <= 8, "bits have room");
    const uint64_t first = state_[1] + advance_ + element / 4;
    const int before = static_cast<int>(element % 4);
    // Where rows are no multiples of four, the four elements are in two blocks.
    const int parts = keys_ % 4 == 0 ? 0 : 1;
    uint32_t bits = 0;
#pragma unroll 1
    for (int i = 0; i < kTiles << parts; i += kTogether) {
      philox::Block block[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int tile = (i + k) >> parts, part = (i + k) & parts;
        block[k] = philox::counter(first + static_cast<uint64_t>(tile) * (step / 4) + part, 0);
      }
      philox::Key key(state_[0]);
#pragma unroll 1
      for (int round = 0; round < philox::kRounds; ++round, key.advance()) {
#pragma unroll
        for (int k = 0; k < kTogether; ++k) block[k] = philox::round_of(block[k], key);
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int tile = (i + k) >> parts, part = (i + k) & parts;
        uint32_t four = 0;
#pragma unroll
        for (int w = 0; w < 4; ++w) four |= uint32_t(block[k].word[w] > last_dropped_) << (w + 4);
        bits |= (four >> (4 + before - 4 * part) & 15) << 4 * tile;
      }
    }
    return bits;
  }

  // Bits of a lane and of the one that is kDistance on are a matrix of two rows in fields of kWidth
  // bits; it is transposed.
  template <int kDistance, int kWidth>
  static __device__ __forceinline__ uint32_t exchanged(uint32_t mine) {
    constexpr uint32_t kLower = kWidth == 1 ? 0x55555555 : 0x33333333;
    const uint32_t others = __shfl_xor_sync(~0u, mine, kDistance);
    return (threadIdx.x & kDistance) == 0 ? (mine & kLower) | (others & kLower) << kWidth
                                          : (mine & ~kLower) | (others >> kWidth & kLower);
  }

  const uint64_t* state_;  // {seed, offset} on the device, so that a captured graph draws fresh
                           // numbers
  uint64_t advance_;
  uint32_t last_dropped_;
  float factor_;
  int heads_, queries_, keys_;
};

// Puts zeros in the place of what is not kept.
template <int kTiles>
__device__ __forceinline__ void drop(float (&sums)[kTiles][4], uint32_t kept) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if ((kept >> (4 * j + i) & 1) == 0) sums[j][i] = 0;
  }
}

}  // namespace dt::cuda
