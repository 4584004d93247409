// What stands between the caches of memory (allocator.h, pinned.h) and CUDA, so that they are plain
// C++ which a test runs without a GPU. memory.cpp has the real ones.
#pragma once

#include <stdint.h>

#include "kernels/abi.h"

namespace dt::cuda {

// What a cache asks of the memory behind it. Streams and events are the driver's own business.
class Driver {
 public:
  virtual ~Driver() = default;
  // DT_KERNEL_OK, DT_KERNEL_OUT_OF_MEMORY (which is worth a second try) or another code with the
  // fault filled.
  virtual int32_t allocate(int64_t bytes, void** memory, dt_fault* fault) = 0;
  // May wait for the device, so memory that it still uses is safe. Only when `may_free`: to wait
  // while a graph is captured would break the capture.
  virtual void free(void* memory) = 0;
  virtual bool may_free() = 0;
  virtual void available(int64_t* free, int64_t* total) = 0;
  // An event that is done when all that `stream` has been told so far is; recycled after use.
  virtual void* record(void* stream) = 0;
  // May say no for the time being where it is not allowed to ask.
  virtual bool is_done(void* event) = 0;
  virtual void wait(void* event) = 0;
  virtual void recycle(void* event) = 0;
  // Names the recording of a graph that takes down what `stream` is told; 0: none does.
  virtual uint64_t capture(void* stream) = 0;
};

}  // namespace dt::cuda
