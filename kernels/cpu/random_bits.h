// Philox blocks in vectors: the words of many consecutive counters at once.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/philox.h"

namespace dt::cpu {
namespace {

constexpr int kBlocks = 64;

// word[w][i] is word w of the block of counter `first` + i.
struct Words {
  alignas(64) uint32_t word[4][kBlocks];

  // Words 2 half and 2 half + 1 of block i as one number of 64 bits.
  DT_MATH uint64_t wide(int half, int64_t i) const {
    return word[2 * half][i] | static_cast<uint64_t>(word[2 * half + 1][i]) << 32;
  }

  // The words in the order of the elements that they make. Written out, because the compiler turns
  // four stores in a row into shuffles, but not a loop over them.
  void in_order(uint32_t (&y)[4 * kBlocks]) const {
    for (int i = 0; i < kBlocks; ++i) {
      y[4 * i] = word[0][i];
      y[4 * i + 1] = word[1][i];
      y[4 * i + 2] = word[2][i];
      y[4 * i + 3] = word[3][i];
    }
  }

  void in_order(uint64_t (&y)[2 * kBlocks]) const {
    for (int i = 0; i < kBlocks; ++i) {
      y[2 * i] = wide(0, i);
      y[2 * i + 1] = wide(1, i);
    }
  }
};

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

// Blocks are made so many at a time, each word by word in 64-bit lanes: what is above a word's 32
// bits is never looked at.
constexpr int kBlocksAtOnce = 16;
static_assert(kBlocks % kBlocksAtOnce == 0, "words are made in whole steps");

// The words of `blocks` blocks, and of some more; the others keep what they have.
inline void make_words(Words& out, uint64_t first, uint64_t key, int64_t blocks = kBlocks) {
  constexpr int kLanes = kVectorBytes / 8;
  alignas(64) uint64_t state[4][kBlocksAtOnce];
  for (int64_t begin = 0; begin < blocks; begin += kBlocksAtOnce, first += kBlocksAtOnce) {
    for (int i = 0; i < kBlocksAtOnce; ++i) state[0][i] = first + static_cast<uint64_t>(i);
    for (int i = 0; i < kBlocksAtOnce; i += kLanes) {
      Lanes64 c0 = load(&state[0][i]), c1 = c0 >> 32, c2 = {}, c3 = {};
      uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
      for (int round = 0; round < philox::kRounds; ++round) {
        const Lanes64 p0 = multiply_low_halves(c0, philox::kMultiplier0);
        const Lanes64 p1 = multiply_low_halves(c2, philox::kMultiplier1);
        c0 = (p1 >> 32) ^ c1 ^ static_cast<uint64_t>(k0);
        c2 = (p0 >> 32) ^ c3 ^ static_cast<uint64_t>(k1);
        c1 = p1;
        c3 = p0;
        k0 += philox::kWeyl0;
        k1 += philox::kWeyl1;
      }
      store(&state[0][i], c0);
      store(&state[1][i], c1);
      store(&state[2][i], c2);
      store(&state[3][i], c3);
    }
    for (int w = 0; w < 4; ++w) {
      for (int i = 0; i < kBlocksAtOnce; ++i)
        out.word[w][begin + i] = static_cast<uint32_t>(state[w][i]);
    }
  }
}

}  // namespace
}  // namespace dt::cpu
