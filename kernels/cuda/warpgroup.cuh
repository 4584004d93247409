// Products of matrices by a warpgroup, which is four warps, on tensor cores by wgmma (sm_90a): they
// read their operands from shared memory by themselves, while the threads do something else.
//
// A tile in shared memory is of panels, one behind the other, whose rows are 64 elements of two
// bytes. Packets of 16 bytes lie where the copy engine puts them (tile_copy.cuh): packet p of row r
// at place p ^ (r % 8), so that eight rows of one column are in different banks.
//
// A group's warp w has the rows 16 w on of sums [64, 8 * kTiles], and its lanes what they have of
// those of mma.sync (tensor_core.cuh).
#pragma once

#include "kernels/cuda/types.cuh"

namespace dt::cuda {

constexpr int kGroupThreads = 128, kGroupRows = 64;
constexpr int kPanel = 64;                              // elements of a row of a panel
constexpr int kPanelRowBytes = 128, kAtomBytes = 1024;  // eight rows
constexpr int kProductDepth = 16;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// What an instruction knows of an operand: where it begins, in 16 bytes, from one panel to the next
// and from eight rows to the next, and that packets are exchanged in 128 bytes.
__device__ __forceinline__ uint64_t tile_descriptor(const void* tile, uint32_t panel_bytes) {
  const uint64_t at = __cvta_generic_to_shared(tile);
  return at >> 4 | uint64_t{panel_bytes >> 4} << 16 | uint64_t{kAtomBytes >> 4} << 32 |
         uint64_t{1} << 62;
}

// How many registers each thread of the calling warpgroup has from now on. What some give away
// others may take; each role of a kernel asks at the beginning of its branch.
template <int kCount>
__device__ __forceinline__ void give_registers_but() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void take_registers_up_to() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

// Before the first product that uses registers which the threads wrote.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// Makes a group of all products since the last call.
__device__ __forceinline__ void close_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits for all groups but the latest kPending.
template <int kPending>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Keeps the compiler from moving what it does with registers past this point: it does not know that
// products under way write and read them.
template <int kTiles>
__device__ __forceinline__ void hold(float (&sums)[kTiles][4]) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(sums[j][i])::"memory");
  }
}
template <int kSteps>
__device__ __forceinline__ void hold(uint32_t (&pairs)[kSteps][4]) {
#pragma unroll
  for (int j = 0; j < kSteps; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(pairs[j][i])::"memory");
  }
}

// Lets the engine that products and copies use see what this thread has written to shared memory.
__device__ __forceinline__ void publish_tiles() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Writes a warp's operand [16, 16 * kSteps] as rows of panels of kPanelRows rows, from row `row`
// on, a multiple of 8.
template <int kPanelRows, int kSteps, class T>
__device__ __forceinline__ void store_rows(T* panels, int row, const uint32_t (&pairs)[kSteps][4]) {
  const int lane = threadIdx.x % 32, own_row = row + lane % 16;
  const auto to =
      static_cast<uint32_t>(__cvta_generic_to_shared(panels)) + own_row * kPanelRowBytes;
  constexpr int kStepsOfPanel = kPanel / kProductDepth;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    const int panel = k / kStepsOfPanel, packet = 2 * (k % kStepsOfPanel) + lane / 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     to + panel * kPanelRows * kPanelRowBytes + (packet ^ own_row % 8) * 16),
                 "r"(pairs[k][0]), "r"(pairs[k][1]), "r"(pairs[k][2]), "r"(pairs[k][3])
                 : "memory");
  }
}

// One instruction for each type and number of columns, 32, 64 and 128, which are 16 operands to 64.
#define DT_TILE(j) "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
#define DT_TILES(j) DT_TILE(j), DT_TILE(j + 1), DT_TILE(j + 2), DT_TILE(j + 3)
#define DT_NAMES_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define DT_NAMES_32 DT_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define DT_NAMES_64                                                                          \
  DT_NAMES_32                                                                                \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53" \
  ",%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
// sums = or += a @ b^T of rows that lie in panels, or a^T @ b of such rows.
#define DT_PRODUCT_OF_TILES(columns, type, names, a, b, adds, as_they_lie, ...)          \
  asm volatile("{.reg .pred p; setp.ne.b32 p, " adds                                     \
               ", 0; wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type \
               " {" names "}, " a ", " b ", p, 1, 1, " as_they_lie ", " as_they_lie ";}" \
               : __VA_ARGS__                                                             \
               : "l"(a_tile), "l"(b_tile), "r"(adds_up), "n"(kAsTheyLie))
// sums += a @ b of a in registers and b as it lies.
#define DT_PRODUCT_OF_REGISTERS(columns, type, names, a, b, ...)                               \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" names \
               "}, {" a "}, " b ", 1, 1, 1, 1;"                                                \
               : __VA_ARGS__                                                                   \
               : "r"(a_pairs[0]), "r"(a_pairs[1]), "r"(a_pairs[2]), "r"(a_pairs[3]), "l"(b_tile))

template <class T>
struct WarpgroupProducts {
  static constexpr bool kIsBFloat16 = std::is_same_v<T, BFloat16>;

  // sums [64, 8 * kTiles] = a @ b^T, of rows of kLength elements. From one panel of a and of b to
  // the next there are so many rows.
  template <int kLength, int kPanelRowsOfA, int kPanelRowsOfB, int kTiles>
  static __device__ __forceinline__ void multiply_rows(float (&sums)[kTiles][4], const T* a,
                                                       const T* b) {
    const uint64_t first_a = tile_descriptor(a, 0), first_b = tile_descriptor(b, 0);
#pragma unroll
    for (int k = 0; k < kLength; k += kProductDepth) {
      const int panel = k / kPanel * kPanelRowBytes, inside = k % kPanel * 2;
      multiply_add<0>(sums, first_a + (panel * kPanelRowsOfA + inside) / 16,
                      first_b + (panel * kPanelRowsOfB + inside) / 16, k > 0);
    }
  }
  // sums [64, 8 * kTiles] = a^T @ b, of a's kRows rows of one panel, and columns of b that lie in
  // one panel.
  template <int kRows, int kTiles>
  static __device__ __forceinline__ void multiply_columns(float (&sums)[kTiles][4], const T* a,
                                                          const T* b) {
    static_assert(8 * kTiles <= kPanel, "one panel");
    const uint64_t first_a = tile_descriptor(a, 0), first_b = tile_descriptor(b, 0);
#pragma unroll
    for (int k = 0; k < kRows; k += kProductDepth)
      multiply_add<1>(sums, first_a + k * kPanelRowBytes / 16, first_b + k * kPanelRowBytes / 16,
                      k > 0);
  }
  // sums [64, 8 * kTiles] += weights [64, 16 * kSteps] @ b, of panels of kPanelRows rows.
  template <int kPanelRows, int kTiles, int kSteps>
  static __device__ __forceinline__ void multiply_sums(float (&sums)[kTiles][4],
                                                       const uint32_t (&weights)[kSteps][4],
                                                       const T* b) {
    const uint64_t first_b = tile_descriptor(b, kPanelRows * kPanelRowBytes);
#pragma unroll
    for (int k = 0; k < kSteps; ++k)
      multiply_add(sums, weights[k], first_b + k * kProductDepth * kPanelRowBytes / 16);
  }

 private:
  template <int kAsTheyLie, int kTiles>
  static __device__ __forceinline__ void multiply_add(float (&sums)[kTiles][4], uint64_t a_tile,
                                                      uint64_t b_tile, int adds_up) {
    static_assert(kTiles == 4 || kTiles == 8 || kTiles == 16, "as many as there are here");
    if constexpr (kTiles == 4 && kIsBFloat16) {
      DT_PRODUCT_OF_TILES("32", "bf16", DT_NAMES_16, "%16", "%17", "%18", "%19", DT_TILES(0));
    } else if constexpr (kTiles == 4) {
      DT_PRODUCT_OF_TILES("32", "f16", DT_NAMES_16, "%16", "%17", "%18", "%19", DT_TILES(0));
    } else if constexpr (kTiles == 8 && kIsBFloat16) {
      DT_PRODUCT_OF_TILES("64", "bf16", DT_NAMES_32, "%32", "%33", "%34", "%35", DT_TILES(0),
                          DT_TILES(4));
    } else if constexpr (kTiles == 8) {
      DT_PRODUCT_OF_TILES("64", "f16", DT_NAMES_32, "%32", "%33", "%34", "%35", DT_TILES(0),
                          DT_TILES(4));
    } else if constexpr (kIsBFloat16) {
      DT_PRODUCT_OF_TILES("128", "bf16", DT_NAMES_64, "%64", "%65", "%66", "%67", DT_TILES(0),
                          DT_TILES(4), DT_TILES(8), DT_TILES(12));
    } else {
      DT_PRODUCT_OF_TILES("128", "f16", DT_NAMES_64, "%64", "%65", "%66", "%67", DT_TILES(0),
                          DT_TILES(4), DT_TILES(8), DT_TILES(12));
    }
  }
  template <int kTiles>
  static __device__ __forceinline__ void multiply_add(float (&sums)[kTiles][4],
                                                      const uint32_t (&a_pairs)[4],
                                                      uint64_t b_tile) {
    static_assert(kTiles == 8 || kTiles == 16, "as many columns as there are instructions for");
    if constexpr (kTiles == 8 && kIsBFloat16) {
      DT_PRODUCT_OF_REGISTERS("64", "bf16", DT_NAMES_32, "%32,%33,%34,%35", "%36", DT_TILES(0),
                              DT_TILES(4));
    } else if constexpr (kTiles == 8) {
      DT_PRODUCT_OF_REGISTERS("64", "f16", DT_NAMES_32, "%32,%33,%34,%35", "%36", DT_TILES(0),
                              DT_TILES(4));
    } else if constexpr (kIsBFloat16) {
      DT_PRODUCT_OF_REGISTERS("128", "bf16", DT_NAMES_64, "%64,%65,%66,%67", "%68", DT_TILES(0),
                              DT_TILES(4), DT_TILES(8), DT_TILES(12));
    } else {
      DT_PRODUCT_OF_REGISTERS("128", "f16", DT_NAMES_64, "%64,%65,%66,%67", "%68", DT_TILES(0),
                              DT_TILES(4), DT_TILES(8), DT_TILES(12));
    }
  }
};

#undef DT_PRODUCT_OF_REGISTERS
#undef DT_PRODUCT_OF_TILES
#undef DT_NAMES_64
#undef DT_NAMES_32
#undef DT_NAMES_16
#undef DT_TILES
#undef DT_TILE

#endif

}  // namespace dt::cuda
