// Products of small matrices on tensor cores by mma.sync (sm_80): what a warp holds of them, and
// how it gets there from shared memory.
//
// A warp multiplies a [16, kDepth] by b [kDepth, 8] and adds to sums [16, 8]. With g = lane / 4 and
// t = lane % 4, a lane has the sums (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). An operand
// lies in shared memory in rows whose distance, kPitch, spreads the reads of a warp over all banks.
#pragma once

#include "kernels/cuda/types.cuh"

namespace dt::cuda {

__device__ __forceinline__ int lane_group() {
  return threadIdx.x % 32 / 4;
}
__device__ __forceinline__ int lane_pair() {
  return threadIdx.x % 4 * 2;
}

// Numbers as sums of kPieces numbers T: the first is the number rounded, the next what that leaves,
// and so on. Products are those of pieces whose places, counted from 0, add up to less than
// kPieces; the others are smaller than what the last piece leaves. Sums are floats.
//   bfloat16, float16: one piece, whose products are exact
//   float32: three of bfloat16, which has its range; an error of about 2^-24 in six products
//   float32 where TF32 is allowed: two, an error of about 2^-16 in three products
template <class T, int kCount>
struct PieceProducts {
  using Piece = T;                                            // in shared memory
  using Element = std::conditional_t<kCount == 1, T, float>;  // in the tensor
  static constexpr int kPieces = kCount, kDepth = 16, kTilesPerDepth = kDepth / 8;
  // From one row in shared memory to the next: all first pieces of a row, all second ones, ...
  template <int kLength>
  static constexpr int kPitch = 8 + (kPieces * kLength);

  struct A {
    uint32_t pair[kPieces][4];
  };

  // a[i][k] = rows[i][k].
  template <int kLength>
  static __device__ __forceinline__ void load(A& a, const T* rows) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int p = 0; p < kPieces; ++p)
      load_matrices<false>(a.pair[p],
                           rows + lane % 16 * kPitch<kLength> + p * kLength + lane / 16 * 8);
  }
  // kDepth columns of sums, from tile `first` on, as the left operand.
  template <int kTiles>
  static __device__ __forceinline__ void from_sums(A& a, const float (&sums)[kTiles][4],
                                                   int first) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float(&tile)[4] = sums[first + i / 2];
      float low = tile[i % 2 * 2], high = tile[i % 2 * 2 + 1];
#pragma unroll
      for (int p = 0; p < kPieces; ++p) a.pair[p][i] = take_piece(low, high);
    }
  }
  // sums [16, 8 * kTiles] += a @ b with b[k][j] = rows[j][k], or rows[k][j] if kAsTheyLie. Small
  // products come first. One after the other goes to another tile: they need not wait.
  template <int kLength, bool kAsTheyLie, int kTiles>
  static __device__ __forceinline__ void multiply_add(float (*sums)[4], const A& a, const T* rows) {
    const int lane = threadIdx.x % 32, inner = lane / 8 % 2 * 8, outer = lane / 16 * 8;
    rows += kAsTheyLie ? (inner + lane % 8) * kPitch<kLength> + outer
                       : (outer + lane % 8) * kPitch<kLength> + inner;
#pragma unroll
    for (int p = kPieces - 1; p >= 0; --p) {
      uint32_t b[kTiles / 2][4];
#pragma unroll
      for (int j = 0; j < kTiles / 2; ++j)
        load_matrices<kAsTheyLie>(b[j],
                                  rows + p * kLength + 16 * j * (kAsTheyLie ? 1 : kPitch<kLength>));
#pragma unroll
      for (int q = kPieces - 1 - p; q >= 0; --q) {
#pragma unroll
        for (int j = 0; j < kTiles; ++j)
          add_product(sums[j], a.pair[q], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }

  // The next pieces of two numbers, which keep what these leave.
  static __device__ __forceinline__ uint32_t take_piece(float& low, float& high) {
    uint32_t both;
    if constexpr (std::is_same_v<T, BFloat16>)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    else
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    if constexpr (kPieces > 1) {
      low -= __uint_as_float(both << 16);
      high -= __uint_as_float(both & 0xffff0000u);
    }
    return both;
  }

 private:
  // Four matrices of 8 x 8: lane l says where row l % 8 of matrix l / 8 begins.
  template <bool kTransposed>
  static __device__ __forceinline__ void load_matrices(uint32_t (&m)[4], const T* row) {
    const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
    if constexpr (kTransposed) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                   : "r"(at)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                   : "r"(at)
                   : "memory");
    }
  }
  static __device__ __forceinline__ void add_product(float (&sums)[4], const uint32_t (&a)[4],
                                                     uint32_t b0, uint32_t b1) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
      asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
  }
};

// How many tiles of sums are worked on at a time.
template <int kTiles>
constexpr int kTilesTogether = kTiles < 8 ? kTiles : 8;

// sums [16, 8 * kTiles] += a @ b^T, of kLength numbers of each row of a and b in shared memory.
template <class Products, int kLength, int kTiles>
__device__ __forceinline__ void multiply_rows(float (&sums)[kTiles][4],
                                              const typename Products::Piece* a,
                                              const typename Products::Piece* b) {
  constexpr int kTogether = kTilesTogether<kTiles>;
#pragma unroll
  for (int k = 0; k < kLength; k += Products::kDepth) {
    typename Products::A left;
    Products::template load<kLength>(left, a + k);
#pragma unroll
    for (int j = 0; j < kTiles; j += kTogether)
      Products::template multiply_add<kLength, false, kTogether>(
          sums + j, left, b + j * 8 * Products::template kPitch<kLength> + k);
  }
}

// sums [16, kLength] += weights [16, 8 * kTiles] @ b, of rows of kLength numbers in shared memory.
template <class Products, int kLength, int kTiles>
__device__ __forceinline__ void multiply_sums(float (&sums)[kLength / 8][4],
                                              const float (&weights)[kTiles][4],
                                              const typename Products::Piece* b) {
  constexpr int kTogether = kTilesTogether<kLength / 8>;
#pragma unroll
  for (int k = 0; k < kTiles; k += Products::kTilesPerDepth) {
    typename Products::A left;
    Products::from_sums(left, weights, k);
#pragma unroll
    for (int j = 0; j < kLength / 8; j += kTogether)
      Products::template multiply_add<kLength, true, kTogether>(
          sums + j, left, b + k * 8 * Products::template kPitch<kLength> + j * 8);
  }
}

}  // namespace dt::cuda
