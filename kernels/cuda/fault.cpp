// The error words: where kernels leave a note of a bad index, and where the host finds it.
#include <new>

#include "kernels/cuda/runtime.h"

namespace dt::cuda {

// On the device that is current.
cudaError_t make_error_word(ErrorWord** word) {
  void* claim = nullptr;
  cudaError_t error = cudaMalloc(&claim, sizeof(unsigned int));
  if (!error) error = cudaMemset(claim, 0, sizeof(unsigned int));
  void* shared = nullptr;
  if (!error)
    error = cudaHostAlloc(&shared, sizeof(ErrorWord), cudaHostAllocMapped | cudaHostAllocPortable);
  if (error) return error;
  *word = new (shared) ErrorWord{0, 0, 0, 1, static_cast<unsigned int*>(claim)};
  return cudaSuccess;
}

// Host and device have one address space, so the address is the same on both sides.
ErrorWord* error_word(int32_t device) {
  if (set_device(device) != cudaSuccess) return nullptr;  // the launch will report it
  return find_device(device)->error_word;
}

int32_t take_error_word(int32_t device, dt_fault* fault) {
  ErrorWord* word = find_device(device)->error_word;
  if (__atomic_load_n(&word->op, __ATOMIC_ACQUIRE) == 0) return DT_KERNEL_OK;
  const int64_t index = word->index, size = word->size;
  // Of two threads that see the note, one takes it.
  const unsigned long long op = __atomic_exchange_n(&word->op, 0, __ATOMIC_ACQ_REL);
  if (op == 0) return DT_KERNEL_OK;
  __atomic_add_fetch(&word->round, 1, __ATOMIC_RELEASE);
  fault->op = reinterpret_cast<const char*>(op);
  fault->index = index;
  fault->size = size;
  return DT_KERNEL_INDEX;
}

}  // namespace dt::cuda
