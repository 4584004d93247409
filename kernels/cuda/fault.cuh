// Bad indices. A kernel cannot throw: it goes on with a clamped index and leaves a note in its
// device's error word, which the next synchronisation turns into an error that names the op.
#pragma once

#include <stdint.h>

#include "kernels/abi.h"

namespace dt::cuda {

// One per device, in page-locked memory of the host that the device writes to.
struct ErrorWord {
  unsigned long long op;  // address of the op's name on the host; 0: nothing happened
  int64_t index, size;
};

// The device's error word as kernels see it (fault.cpp).
ErrorWord* error_word(int32_t device);
// DT_KERNEL_INDEX, with the fault filled, if a kernel left a note since the last call. Call it
// after a synchronisation.
int32_t take_error_word(int32_t device, dt_fault* fault);

// What a kernel needs to complain: pass it by value.
struct Complaint {
  ErrorWord* word;
  unsigned long long op;

  Complaint(const dt_stream* stream, const dt_call* call)
      : word(error_word(stream->device)), op(reinterpret_cast<unsigned long long>(call->op)) {}

#ifdef __CUDACC__
  // The index if it is in [0, size), else 0 after a complaint. Only the first one is kept.
  __device__ __forceinline__ int64_t checked(int64_t index, int64_t size) const {
    if (index >= 0 && index < size) return index;
    if (atomicCAS_system(&word->op, 0ull, op) == 0) {
      word->index = index;
      word->size = size;
      __threadfence_system();
    }
    return 0;
  }
#endif
};

}  // namespace dt::cuda
