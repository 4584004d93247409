// What the files of the plugin's runtime share: the state of a device, and the functions that make
// up dt_backend. kernels/abi.h says what those do.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <vector>

#include "kernels/abi.h"
#include "kernels/cuda/allocator.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/pinned.h"

namespace dt::cuda {

// ---- device.cpp: state and errors

struct Device {
  int32_t number;
  int multiprocessors;
  bool runs_code_for_sm_90;   // see launch.cuh
  bool runs_code_for_sm_90a;  // see warpgroup.h
  int works_together;         // 1: blocks of a kernel can be there all at once, see together.cuh
  int shared_memory;          // bytes of a multiprocessor
  cudaStream_t main_stream;
  ErrorWord* error_word;
  Driver* driver;
  Allocator* allocator;
};

// A device that was made ready by set_device, else null. Devices live as long as the process.
Device* find_device(int32_t number);
int32_t count_devices(int32_t* devices, dt_fault* fault);
// A process that fork made has its parent's state but no CUDA: all that waits for it is an error.
bool is_forked();
// For errors that nobody can be told of.
inline void ignore(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
}

int32_t properties(int32_t device, dt_device_properties* properties, dt_fault* fault);
int32_t synchronize(int32_t device, dt_fault* fault);

// ---- fault.cpp

cudaError_t make_error_word(ErrorWord** word);

// ---- memory.cpp

Driver* make_driver(int32_t device);
PinnedCache& pinned_cache();

int32_t allocate(int32_t device, int64_t bytes, void* stream, void** block, dt_fault* fault);
void release(int32_t device, void* block);
void use_on(int32_t device, void* block, void* stream);
int32_t memory(int32_t device, dt_memory* memory, dt_fault* fault);
void reset_peaks(int32_t device);
void empty_cache(int32_t device);
int32_t allocate_pinned(int64_t bytes, void** block, dt_fault* fault);
void release_pinned(void* block);

// ---- stream.cpp

// Null stands for the device's main stream.
cudaStream_t resolve(int32_t device, void* stream);
cudaError_t make_main_stream(int32_t device, cudaStream_t* stream);
std::vector<cudaStream_t> streams_of(int32_t device);

// A reusable event of the device that its stream belongs to. Null stands for one that could not be
// recorded (the device is lost, or the process ends): the stream was waited for instead.
struct Marker;
Marker* mark(cudaStream_t stream, int32_t device);
bool is_done(const Marker* marker);
void wait(const Marker* marker);
void recycle(Marker* marker);

int32_t stream_create(int32_t device, int32_t priority, void** stream, dt_fault* fault);
void stream_destroy(int32_t device, void* stream);
int32_t stream_synchronize(int32_t device, void* stream, dt_fault* fault);
int32_t stream_query(int32_t device, void* stream, int32_t* done, dt_fault* fault);
int32_t stream_wait(int32_t device, void* stream, void* event, dt_fault* fault);
int32_t event_create(int32_t device, int32_t timing, void** event, dt_fault* fault);
void event_destroy(int32_t device, void* event);
int32_t event_record(int32_t device, void* event, void* stream, dt_fault* fault);
int32_t event_synchronize(int32_t device, void* event, dt_fault* fault);
int32_t event_query(int32_t device, void* event, int32_t* done, dt_fault* fault);
int32_t event_elapsed(int32_t device, void* start, void* end, double* milliseconds,
                      dt_fault* fault);

// ---- transfer.cpp

int32_t copy(void* to, int32_t to_device, const void* from, int32_t from_device, int64_t bytes,
             void* stream, int32_t wait, dt_fault* fault);

// ---- capture.cpp

// How many graphs are being captured: on all devices, on one, and by this thread.
int captures_underway();
int captures_on(int32_t device);
int captures_of_thread();
// Names the capture that records the stream; 0: none.
uint64_t capture_of(cudaStream_t stream);
// DT_KERNEL_DEVICE with a sentence: `what` cannot be done while a graph is captured.
int32_t refuse_in_capture(const char* what, dt_fault* fault);
// A copy between `host` and a device became part of the capture of `stream`. Returns false if the
// memory is not page-locked, so that a graph must not copy it.
bool keep_for_graph(cudaStream_t stream, const void* host);

// While a thread captures, CUDA refuses it calls that might wait for the device. Within the life
// of this object they are allowed: for those that we know not to disturb the capture.
class AllowUnsafeCalls {
 public:
  AllowUnsafeCalls() {
    if (captures_of_thread() > 0) ignore(cudaThreadExchangeStreamCaptureMode(&mode_));
  }
  ~AllowUnsafeCalls() {
    if (captures_of_thread() > 0) ignore(cudaThreadExchangeStreamCaptureMode(&mode_));
  }
  AllowUnsafeCalls(const AllowUnsafeCalls&) = delete;
  AllowUnsafeCalls& operator=(const AllowUnsafeCalls&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

int32_t capture_begin(int32_t device, void* stream, dt_fault* fault);
int32_t capture_end(int32_t device, void* stream, void** graph, dt_fault* fault);
int32_t graph_launch(int32_t device, void* graph, void* stream, dt_fault* fault);
void graph_destroy(int32_t device, void* graph);

}  // namespace dt::cuda
