// Tiles that the copy engine brings to shared memory (sm_90a), and barriers there by which threads
// know that they came, or that nobody needs them any more.
#pragma once

#include "kernels/cuda/tensor_map.h"
#include "kernels/cuda/warpgroup.cuh"

namespace dt::cuda {

// Counts arrivals, and bytes that the copy engine still owes. When nothing is missing, a phase
// ends, and it counts anew.
class Barrier {
 public:
  __device__ __forceinline__ void open(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at()), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at()) : "memory");
  }
  // Arrives, and says how many bytes are to come.
  __device__ __forceinline__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at()), "r"(bytes)
                 : "memory");
  }
  // Waits for the end of a phase: they are 0 and 1 in turn.
  __device__ __forceinline__ void wait(uint32_t phase) {
    asm volatile(
        "{.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;}" ::"r"(at()),
        "r"(phase)
        : "memory");
  }
  __device__ __forceinline__ uint32_t at() {
    return static_cast<uint32_t>(__cvta_generic_to_shared(&state_));
  }

 private:
  uint64_t state_;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Lets the copy engine see barriers that one thread has opened; the others' turn is behind a
// barrier of the block.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// The places of a ring that are filled and emptied in turn.
template <int kPlaces>
struct Turn {
  int place = 0;
  uint32_t phase = 0;

  __device__ __forceinline__ void advance() {
    if (++place == kPlaces) place = 0, phase ^= 1;
  }
};

// Starts to copy rows [row, row + kRows) of a head as a tile of kLength elements a row, in panels
// of kRows rows. What the tensor does not have is zeros.
template <int kRows, int kLength, class T>
__device__ __forceinline__ void copy_tile(T* to, const CUtensorMap& map, int b, int h, int row,
                                          Barrier& arrived) {
  static_assert(kRows % kMapRows == 0 && kMapColumns == kPanel, "what a copy brings fits");
#pragma unroll
  for (int column = 0; column < kLength; column += kPanel) {
#pragma unroll
    for (int part = 0; part < kRows; part += kMapRows) {
      const auto shared =
          static_cast<uint32_t>(__cvta_generic_to_shared(to + column * kRows + part * kPanel));
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
          "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared),
          "l"(&map), "r"(arrived.at()), "r"(column), "r"(row + part), "r"(h), "r"(b)
          : "memory");
    }
  }
}

// Starts to copy numbers whose places are multiples of 16 bytes, as their count is.
__device__ __forceinline__ void copy_numbers(float* to, const float* from, int count,
                                             Barrier& arrived) {
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared),
      "l"(from), "r"(count * static_cast<int>(sizeof(float))), "r"(arrived.at())
      : "memory");
}

// Starts to write, or to add, numbers of shared memory to those of global memory; see copy_numbers.
// A thread waits for what it has started itself: until the numbers were read, or until all is done.
__device__ __forceinline__ void write_numbers(float* to, const float* from, int count) {
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(from));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared),
               "r"(count * static_cast<int>(sizeof(float)))
               : "memory");
}
__device__ __forceinline__ void add_numbers(float* to, const float* from, int count) {
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(from));
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
      "r"(shared), "r"(count * static_cast<int>(sizeof(float)))
      : "memory");
}
__device__ __forceinline__ void close_writes() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ __forceinline__ void wait_until_written() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

#endif

}  // namespace dt::cuda
