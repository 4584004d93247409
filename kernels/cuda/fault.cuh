// Bad indices. A kernel cannot throw: it leaves a note in its device's error word, which the next
// synchronisation turns into an error that names the op, and goes on. What it reads at a bad index
// is element 0; it never writes there.
#pragma once

#include <stdint.h>

#include "kernels/calls/call.h"

namespace dt::cuda {

// One per device, in page-locked memory of the host that the device writes to. Atomic operations
// are only atomic on the device's own memory, so what decides who leaves the note lies there.
struct ErrorWord {
  unsigned long long op;  // address of the op's name on the host; 0: nothing happened
  int64_t index, size;
  unsigned int round;   // the host counts the notes that it has taken, from 1
  unsigned int* claim;  // the round whose note is being left, on the device
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

  Complaint(const dt_stream* stream, const calls::Call& call)
      : word(error_word(stream->device)), op(reinterpret_cast<unsigned long long>(call.op)) {}

#ifdef __CUDACC__
  // Whether the index is in [0, size). If not, this complains; only the first complaint is kept.
  __device__ __forceinline__ bool accepts(int64_t index, int64_t size) const {
    if (index >= 0 && index < size) return true;
    volatile ErrorWord* note = word;
    const unsigned int round = note->round;
    if (atomicExch(note->claim, round) != round) {
      note->index = index;
      note->size = size;
      __threadfence_system();  // the host sees the op's name last
      note->op = op;
    }
    return false;
  }
#endif
};

}  // namespace dt::cuda
