// Copies from global to shared memory that go on while the thread does something else.
#pragma once

#include <stdint.h>

namespace dt::cuda {

// Starts the copy of kBytes bytes (4, 8 or 16, which both addresses are multiples of), or of zeros
// if not `inside`: then nothing is read and `from` may point anywhere.
template <int kBytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool inside) {
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = inside ? kBytes : 0;
  if constexpr (kBytes == 16) {  // past the first-level cache, which smaller copies cannot avoid
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from),
                 "n"(kBytes), "r"(bytes)
                 : "memory");
  }
}

// Makes a group of all copies that the thread has started since the last call.
__device__ __forceinline__ void close_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for the thread's groups but the latest kPending. Other threads' copies can be seen after a
// barrier.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace dt::cuda
