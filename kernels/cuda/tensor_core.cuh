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

// bfloat16 and float16, whose products are exact and whose sums are floats.
template <class T>
struct NarrowProducts {
  using Element = T;
  static constexpr int kDepth = 16, kPadding = 8;  // elements behind a row of 64 or 128

  struct A {
    uint32_t pair[4];
  };
  struct B {
    uint32_t pair[2];
  };

  // a[i][k] = rows[i][k].
  static __device__ __forceinline__ void load(A& a, const T* rows, int pitch) {
    const int lane = threadIdx.x % 32;
    load_matrices<false>(a.pair, rows + lane % 16 * pitch + lane / 16 * 8);
  }
  // Two neighbours b[k][j] = rows[j][k], for j < 8 and for j in [8, 16).
  static __device__ __forceinline__ void load_transposed(B (&b)[2], const T* rows, int pitch) {
    const int lane = threadIdx.x % 32;
    uint32_t pair[4];
    load_matrices<false>(pair, rows + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8);
    b[0] = {{pair[0], pair[1]}}, b[1] = {{pair[2], pair[3]}};
  }
  // Two neighbours b[k][j] = rows[k][j].
  static __device__ __forceinline__ void load_rows(B (&b)[2], const T* rows, int pitch) {
    const int lane = threadIdx.x % 32;
    uint32_t pair[4];
    load_matrices<true>(pair, rows + (lane / 8 % 2 * 8 + lane % 8) * pitch + lane / 16 * 8);
    b[0] = {{pair[0], pair[1]}}, b[1] = {{pair[2], pair[3]}};
  }
  // kDepth columns of sums, from tile `first` on, as the left operand.
  template <int kTiles>
  static __device__ __forceinline__ void from_sums(A& a, const float (&sums)[kTiles][4],
                                                   int first) {
    const float(&low)[4] = sums[first], (&high)[4] = sums[first + 1];
    a = {{rounded(low[0], low[1]), rounded(low[2], low[3]), rounded(high[0], high[1]),
          rounded(high[2], high[3])}};
  }
  static constexpr int kTilesPerDepth = 2;

  static __device__ __forceinline__ void multiply_add(float (&sums)[4], const A& a, const B& b) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[0]),
            "r"(b.pair[1]));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[0]),
            "r"(b.pair[1]));
    }
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
  static __device__ __forceinline__ uint32_t rounded(float low, float high) {
    return static_cast<uint32_t>(T(low).bits) | static_cast<uint32_t>(T(high).bits) << 16;
  }
};

// float32, as numbers of 11 binary digits (TF32): with kExact as the sum of two, whose products but
// the smallest are added, which leaves an error of about 2^-21. Where the left operand comes from
// sums, k counts their columns in the order 0 2 4 6 1 3 5 7, and so do the rows of b that it meets.
template <bool kExact>
struct FloatProducts {
  using Element = float;
  static constexpr int kDepth = 8, kPadding = 4;

  struct A {
    uint32_t high[4], low[4];
  };
  struct B {
    uint32_t high[2], low[2];
  };

  static __device__ __forceinline__ void load(A& a, const float* rows, int pitch) {
    const float* const p = rows + lane_group() * pitch + lane_pair() / 2;
    split(a.high[0], a.low[0], p[0]);
    split(a.high[1], a.low[1], p[8 * pitch]);
    split(a.high[2], a.low[2], p[4]);
    split(a.high[3], a.low[3], p[8 * pitch + 4]);
  }
  static __device__ __forceinline__ void load_transposed(B (&b)[2], const float* rows, int pitch) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float* const p = rows + (8 * i + lane_group()) * pitch + lane_pair() / 2;
      split(b[i].high[0], b[i].low[0], p[0]);
      split(b[i].high[1], b[i].low[1], p[4]);
    }
  }
  static __device__ __forceinline__ void load_rows(B (&b)[2], const float* rows, int pitch) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float* const p = rows + lane_pair() * pitch + 8 * i + lane_group();
      split(b[i].high[0], b[i].low[0], p[0]);
      split(b[i].high[1], b[i].low[1], p[pitch]);
    }
  }
  template <int kTiles>
  static __device__ __forceinline__ void from_sums(A& a, const float (&sums)[kTiles][4],
                                                   int first) {
    split(a.high[0], a.low[0], sums[first][0]);
    split(a.high[1], a.low[1], sums[first][2]);
    split(a.high[2], a.low[2], sums[first][1]);
    split(a.high[3], a.low[3], sums[first][3]);
  }
  static constexpr int kTilesPerDepth = 1;

  static __device__ __forceinline__ void multiply_add(float (&sums)[4], const A& a, const B& b) {
    if constexpr (kExact) {
      add(sums, a.low, b.high);
      add(sums, a.high, b.low);
    }
    add(sums, a.high, b.high);
  }

 private:
  static __device__ __forceinline__ uint32_t rounded(float x) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
  }
  static __device__ __forceinline__ void split(uint32_t& high, uint32_t& low, float x) {
    high = rounded(x);
    low = kExact ? rounded(x - __uint_as_float(high)) : 0;
  }
  static __device__ __forceinline__ void add(float (&sums)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

// sums [16, 8 * kTiles] += a @ b^T, of kLength numbers of each row of a and b in shared memory.
template <class Products, int kLength, int kTiles>
__device__ __forceinline__ void multiply_rows(float (&sums)[kTiles][4],
                                              const typename Products::Element* a,
                                              const typename Products::Element* b) {
  constexpr int kPitch = kLength + Products::kPadding;
#pragma unroll
  for (int k = 0; k < kLength; k += Products::kDepth) {
    typename Products::A left;
    Products::load(left, a + k, kPitch);
#pragma unroll
    for (int j = 0; j < kTiles; j += 2) {
      typename Products::B right[2];
      Products::load_transposed(right, b + j * 8 * kPitch + k, kPitch);
      Products::multiply_add(sums[j], left, right[0]);
      Products::multiply_add(sums[j + 1], left, right[1]);
    }
  }
}

// sums [16, kLength] += weights [16, 8 * kTiles] @ b, of rows of kLength numbers in shared memory.
template <class Products, int kLength, int kTiles>
__device__ __forceinline__ void multiply_sums(float (&sums)[kLength / 8][4],
                                              const float (&weights)[kTiles][4],
                                              const typename Products::Element* b) {
  constexpr int kPitch = kLength + Products::kPadding, kStep = Products::kTilesPerDepth;
#pragma unroll
  for (int k = 0; k < kTiles; k += kStep) {
    typename Products::A left;
    Products::from_sums(left, weights, k);
#pragma unroll
    for (int j = 0; j < kLength / 8; j += 2) {
      typename Products::B right[2];
      Products::load_rows(right, b + k * 8 * kPitch + j * 8, kPitch);
      Products::multiply_add(sums[j], left, right[0]);
      Products::multiply_add(sums[j + 1], left, right[1]);
    }
  }
}

}  // namespace dt::cuda
