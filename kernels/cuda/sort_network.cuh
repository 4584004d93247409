// A bitonic network (K. E. Batcher, AFIPS 32 (1968), 307) over the words of a team.
#pragma once

#include "kernels/cuda/team.cuh"

namespace dt::cuda {
namespace {

// Sorts the words of a team. Thread t has those of number t * kItems and up.
template <class W, int kTeam, int kItems>
struct Network {
  static constexpr int kSize = kTeam * kItems;

  static __device__ __forceinline__ void sync() {
    if constexpr (kTeam <= kWarp)
      __syncwarp();
    else
      __syncthreads();
  }

  static __device__ __forceinline__ void sort(W (&word)[kItems], W* shared) {
    merge<2>(word, shared);
  }

 private:
  // Merges pairs of sorted runs into one of kRun words each. The first step compares the first run
  // with the reversed second: then all steps put the lesser word first, whichever run it is in.
  template <int kRun>
  static __device__ __forceinline__ void merge(W (&word)[kItems], W* shared) {
    step<kRun - 1>(word, shared);
    if constexpr (kRun > 2) halve<kRun / 4>(word, shared);
    if constexpr (kRun < kSize) merge<2 * kRun>(word, shared);
  }

  template <int kDistance>
  static __device__ __forceinline__ void halve(W (&word)[kItems], W* shared) {
    step<kDistance>(word, shared);
    if constexpr (kDistance > 1) halve<kDistance / 2>(word, shared);
  }

  // Compares words whose numbers differ in the bits of kMask.
  template <int kMask>
  static __device__ __forceinline__ void step(W (&word)[kItems], W* shared) {
    constexpr int kItemMask = kMask % kItems, kThreadMask = kMask / kItems;
    if constexpr (kThreadMask == 0) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (i < (i ^ kItemMask)) put_in_order(&word[i], &word[i ^ kItemMask]);
      }
    } else {
      W other[kItems];
      fetch<kItemMask, kThreadMask>(word, shared, other);
      const int rank = Team<kTeam>::rank();
      const bool keeps_lesser = rank < (rank ^ kThreadMask);
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if ((other[i] < word[i]) == keeps_lesser) word[i] = other[i];
      }
    }
  }

  static __device__ __forceinline__ void put_in_order(W* a, W* b) {
    const W first = *a, second = *b;
    const bool swaps = second < first;
    *a = swaps ? second : first;
    *b = swaps ? first : second;
  }

  template <int kItemMask, int kThreadMask>
  static __device__ __forceinline__ void fetch(const W (&word)[kItems], W* shared,
                                               W (&other)[kItems]) {
    if constexpr (kThreadMask < kWarp) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) other[i] = exchange(word[i ^ kItemMask], kThreadMask);
    } else {
      const int rank = Team<kTeam>::rank(), partner = rank ^ kThreadMask;
#pragma unroll
      for (int i = 0; i < kItems; ++i) shared[i * kTeam + rank] = word[i];
      sync();
#pragma unroll
      for (int i = 0; i < kItems; ++i) other[i] = shared[(i ^ kItemMask) * kTeam + partner];
      sync();  // the next step writes there
    }
  }
};

}  // namespace
}  // namespace dt::cuda
