// Philox blocks in vectors: those of many consecutive counters at once; and dropout by their bits.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/tile_move.h"
#include "kernels/philox.h"

namespace dt::cpu {
namespace {

constexpr int kBlocks = 64;

using Lanes64 = Vector<uint64_t>;

// The product of the lower halves of 64-bit lanes: one instruction, which GCC does not find by
// itself.
inline Lanes64 multiply_low_halves(Lanes64 a, uint32_t m) {
#if defined(__clang__)
  return (a & 0xffffffffu) * m;
#else
  typedef int Int __attribute__((vector_size(kVectorBytes)));
  const Int x = reinterpret_cast<Int>(a), y = reinterpret_cast<Int>(Lanes64{} + m);
#if defined(__AVX512F__)
  typedef long long Long __attribute__((vector_size(kVectorBytes)));
  return reinterpret_cast<Lanes64>(__builtin_ia32_pmuludq512_mask(x, y, Long{}, 0xff));
#elif defined(__AVX2__)
  return reinterpret_cast<Lanes64>(__builtin_ia32_pmuludq256(x, y));
#else
  return reinterpret_cast<Lanes64>(__builtin_ia32_pmuludq128(x, y));
#endif
#endif
}

// The key of each round, in every lane.
struct RoundKeys {
  explicit RoundKeys(uint64_t key) {
    uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < philox::kRounds; ++round) {
      first[round] = Lanes64{} + low;
      second[round] = Lanes64{} + high;
      low += philox::kWeyl0;
      high += philox::kWeyl1;
    }
  }

  Lanes64 first[philox::kRounds], second[philox::kRounds];
};

// One part of the lanes of a and b in turns.
template <int kPart, size_t... kLane>
inline Lanes64 interleave(Lanes64 a, Lanes64 b, std::index_sequence<kLane...>) {
  constexpr int kLanes = sizeof...(kLane);
  return __builtin_shufflevector(a, b, (kPart * kLanes + kLane) / 2 + kLane % 2 * kLanes...);
}

// The words in the lower halves of a and b, side by side.
inline Lanes64 side_by_side(Lanes64 a, Lanes64 b) {
  return (a & 0xffffffffu) | b << 32;
}

// How the bits of elements lie: in order, or those of even elements before those of odd ones, for
// numbers that are made in pairs.
enum class Order { kElements, kApart };

// Puts the words of blocks, one in the lower half of each lane, among the bits of n elements, of
// which those of the first block begin at `begin`.
template <Order kOrder, class Bits, size_t n>
inline void put_blocks(Bits (&out)[n], int64_t begin, Lanes64 a, Lanes64 b, Lanes64 c, Lanes64 d) {
  if constexpr (kOrder == Order::kApart) {
    constexpr bool kWide = sizeof(Bits) == 8;
    const Lanes64 even = side_by_side(a, kWide ? b : c), odd = side_by_side(kWide ? c : b, d);
    __builtin_memcpy(out + begin / 2, &even, sizeof(even));
    __builtin_memcpy(out + n / 2 + begin / 2, &odd, sizeof(odd));
  } else {
    constexpr std::make_index_sequence<kVectorBytes / 8> kLanes;
    const Lanes64 ab = side_by_side(a, b), cd = side_by_side(c, d);
    const Lanes64 first = interleave<0>(ab, cd, kLanes), second = interleave<1>(ab, cd, kLanes);
    __builtin_memcpy(out + begin, &first, sizeof(first));
    __builtin_memcpy(out + begin + sizeof(first) / sizeof(Bits), &second, sizeof(second));
  }
}

// Blocks are made so many at a time: two vectors, neither of which waits for its own arithmetic.
constexpr int kTogether = 2, kBlocksAtOnce = kTogether * kVectorBytes / 8;
static_assert(kBlocks % kBlocksAtOnce == 0, "blocks are made in whole steps");

// The bits of `blocks` blocks, and of some more; the others keep what they have. In 64-bit lanes of
// which what is above a word's 32 bits is never looked at.
template <Order kOrder, class Bits, size_t n>
inline void make_bits(Bits (&out)[n], uint64_t first, const RoundKeys& keys, int64_t blocks) {
  constexpr int kLanes = kVectorBytes / 8, kPerBlock = n / kBlocks;
  uint64_t counts[kLanes];
  for (int i = 0; i < kLanes; ++i) counts[i] = static_cast<uint64_t>(i);
  const Lanes64 count = load(counts);
  for (int64_t begin = 0; begin < blocks; begin += kBlocksAtOnce) {
    Lanes64 c0[kTogether], c1[kTogether], c2[kTogether] = {}, c3[kTogether] = {};
    DT_UNROLL
    for (int v = 0; v < kTogether; ++v) {
      c0[v] = count + (first + static_cast<uint64_t>(begin + v * kLanes));
      c1[v] = c0[v] >> 32;
    }
    for (int round = 0; round < philox::kRounds; ++round) {
      DT_UNROLL
      for (int v = 0; v < kTogether; ++v) {
        const Lanes64 p0 = multiply_low_halves(c0[v], philox::kMultiplier0);
        const Lanes64 p1 = multiply_low_halves(c2[v], philox::kMultiplier1);
        c0[v] = (p1 >> 32) ^ c1[v] ^ keys.first[round];
        c2[v] = (p0 >> 32) ^ c3[v] ^ keys.second[round];
        c1[v] = p1;
        c3[v] = p0;
      }
    }
    DT_UNROLL
    for (int v = 0; v < kTogether; ++v)
      put_blocks<kOrder>(out, kPerBlock * (begin + v * kLanes), c0[v], c1[v], c2[v], c3[v]);
  }
}

// Which elements dropout keeps, by the bits of each, and what it makes of them.
template <class T>
struct DropRule {
  explicit DropRule(double p)
      : limit(philox::threshold(p)), scale(static_cast<T>(p < 1 ? 1 / (1 - p) : 0)) {}

  // y may be x.
  void apply(T* y, const T* x, const uint32_t* bits, int64_t n) const {
    const int32_t first_kept = limit;
    const T factor = scale;
    DT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T weight = static_cast<int32_t>(bits[i] >> 8) >= first_kept ? factor : T(0);
      y[i] = x[i] * weight;  // NaN where NaN or an infinity is dropped
    }
  }

  int32_t limit;
  T scale;
};

}  // namespace
}  // namespace dt::cpu
