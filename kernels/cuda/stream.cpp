// Streams and events.
//
// A stream that its user destroys is kept for the next one who asks: the allocator's free blocks
// belong to streams, and are only safe to reuse behind the work that the stream still has.
#include <algorithm>
#include <map>
#include <mutex>

#include "kernels/cuda/runtime.h"

namespace dt::cuda {

namespace {

struct Known {
  int32_t device;
  int32_t priority;
  bool is_idle;  // destroyed by its user
};

// Never freed, because threads may still ask while the process ends.
std::mutex& streams_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::map<cudaStream_t, Known>& known_streams() {
  static auto* streams = new std::map<cudaStream_t, Known>;
  return *streams;
}

int32_t device_of(cudaStream_t stream, int32_t otherwise) {
  const std::lock_guard<std::mutex> lock(streams_mutex());
  const auto found = known_streams().find(stream);
  return found == known_streams().end() ? otherwise : found->second.device;
}

cudaStream_t take_idle(int32_t device, int32_t priority) {
  const std::lock_guard<std::mutex> lock(streams_mutex());
  for (auto& [stream, known] : known_streams()) {
    if (!known.is_idle || known.device != device || known.priority != priority) continue;
    known.is_idle = false;
    return stream;
  }
  return nullptr;
}

void remember(cudaStream_t stream, int32_t device, int32_t priority) {
  const std::lock_guard<std::mutex> lock(streams_mutex());
  known_streams()[stream] = {device, priority, false};
}

}  // namespace

cudaStream_t resolve(int32_t device, void* stream) {
  return stream ? static_cast<cudaStream_t>(stream) : find_device(device)->main_stream;
}

cudaStream_t native_stream(const dt_stream* stream) {
  return resolve(stream->device, stream->native);
}

// Not the legacy default stream, which cannot be captured, but one that waits for it and that it
// waits for: so work of other libraries in the process is ordered with ours.
cudaError_t make_main_stream(int32_t device, cudaStream_t* stream) {
  const cudaError_t error = cudaStreamCreateWithFlags(stream, cudaStreamDefault);
  if (!error) remember(*stream, device, 0);
  return error;
}

std::vector<cudaStream_t> streams_of(int32_t device) {
  const std::lock_guard<std::mutex> lock(streams_mutex());
  std::vector<cudaStream_t> streams;
  for (const auto& [stream, known] : known_streams())
    if (known.device == device) streams.push_back(stream);
  return streams;
}

// ---- streams of users ---------------------------------------------------------------------------

int32_t stream_create(int32_t device, int32_t priority, void** stream, dt_fault* fault) {
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  int lowest = 0, highest = 0;
  cudaError_t error = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
  if (const int32_t code = check(error, "cudaDeviceGetStreamPriorityRange", fault)) return code;
  priority = std::min(std::max(priority, highest), lowest);  // smaller numbers go first
  if ((*stream = take_idle(device, priority))) return DT_KERNEL_OK;
  cudaStream_t made = nullptr;
  error = cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, priority);
  if (const int32_t code = check(error, "cudaStreamCreateWithPriority", fault)) return code;
  remember(made, device, priority);
  *stream = made;
  return DT_KERNEL_OK;
}

void stream_destroy(int32_t device, void* stream) {
  if (!find_device(device)) return;
  const std::lock_guard<std::mutex> lock(streams_mutex());
  const auto found = known_streams().find(static_cast<cudaStream_t>(stream));
  if (found != known_streams().end()) found->second.is_idle = true;
}

int32_t stream_synchronize(int32_t device, void* stream, dt_fault* fault) {
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  const cudaStream_t waited = resolve(device, stream);
  if (capture_of(waited)) return refuse_in_capture("waiting for a captured stream", fault);
  const cudaError_t error = cudaStreamSynchronize(waited);
  if (const int32_t code = check(error, "cudaStreamSynchronize", fault)) return code;
  return take_error_word(device, fault);
}

namespace {

int32_t answer_query(cudaError_t error, const char* what, int32_t* done, dt_fault* fault) {
  *done = error == cudaSuccess;
  if (error != cudaErrorNotReady) return check(error, what, fault);
  ignore(error);
  return DT_KERNEL_OK;
}

}  // namespace

int32_t stream_query(int32_t device, void* stream, int32_t* done, dt_fault* fault) {
  *done = 0;
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  const cudaStream_t asked = resolve(device, stream);
  if (capture_of(asked))
    return refuse_in_capture("asking whether a captured stream is done", fault);
  const AllowUnsafeCalls allow;
  return answer_query(cudaStreamQuery(asked), "cudaStreamQuery", done, fault);
}

int32_t stream_wait(int32_t device, void* stream, void* event, dt_fault* fault) {
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  const cudaError_t error =
      cudaStreamWaitEvent(resolve(device, stream), static_cast<cudaEvent_t>(event), 0);
  return check(error, "cudaStreamWaitEvent", fault);
}

// ---- events of users ----------------------------------------------------------------------------

int32_t event_create(int32_t device, int32_t timing, void** event, dt_fault* fault) {
  *event = nullptr;
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  cudaEvent_t made = nullptr;
  const cudaError_t error =
      cudaEventCreateWithFlags(&made, timing ? cudaEventDefault : cudaEventDisableTiming);
  *event = made;
  return check(error, "cudaEventCreateWithFlags", fault);
}

void event_destroy(int32_t device, void* event) {
  if (event && find_device(device)) ignore(cudaEventDestroy(static_cast<cudaEvent_t>(event)));
}

int32_t event_record(int32_t device, void* event, void* stream, dt_fault* fault) {
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  const cudaError_t error =
      cudaEventRecord(static_cast<cudaEvent_t>(event), resolve(device, stream));
  return check(error, "cudaEventRecord", fault);
}

int32_t event_synchronize(int32_t device, void* event, dt_fault* fault) {
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  if (captures_of_thread() > 0) return refuse_in_capture("waiting for an event", fault);
  const cudaError_t error = cudaEventSynchronize(static_cast<cudaEvent_t>(event));
  if (const int32_t code = check(error, "cudaEventSynchronize", fault)) return code;
  return take_error_word(device, fault);
}

int32_t event_query(int32_t device, void* event, int32_t* done, dt_fault* fault) {
  *done = 0;
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  if (captures_of_thread() > 0) return refuse_in_capture("asking for an event", fault);
  return answer_query(cudaEventQuery(static_cast<cudaEvent_t>(event)), "cudaEventQuery", done,
                      fault);
}

int32_t event_elapsed(int32_t device, void* start, void* end, double* milliseconds,
                      dt_fault* fault) {
  *milliseconds = 0;
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  float elapsed = 0;
  const cudaError_t error = cudaEventElapsedTime(&elapsed, static_cast<cudaEvent_t>(start),
                                                 static_cast<cudaEvent_t>(end));
  *milliseconds = elapsed;
  return check(error, "cudaEventElapsedTime", fault);
}

// ---- markers ------------------------------------------------------------------------------------

struct Marker {
  cudaEvent_t event;
  int32_t device;
};

namespace {

std::mutex& markers_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::vector<Marker*>& idle_markers(int32_t device) {
  static auto* markers = new std::vector<Marker*>[kMaxDevices];
  return markers[device];
}

Marker* take_marker(int32_t device) {
  {
    const std::lock_guard<std::mutex> lock(markers_mutex());
    std::vector<Marker*>& idle = idle_markers(device);
    if (!idle.empty()) {
      Marker* marker = idle.back();
      idle.pop_back();
      return marker;
    }
  }
  cudaEvent_t event = nullptr;
  const cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  ignore(error);
  return error ? nullptr : new Marker{event, device};
}

}  // namespace

Marker* mark(cudaStream_t stream, int32_t device) {
  device = device_of(stream, device);
  if (set_device(device) != cudaSuccess) return nullptr;
  const AllowUnsafeCalls allow;
  Marker* marker = take_marker(device);
  const cudaError_t error =
      marker ? cudaEventRecord(marker->event, stream) : cudaErrorMemoryAllocation;
  if (!error) return marker;
  cudaGetLastError();
  ignore(cudaStreamSynchronize(stream));
  recycle(marker);
  return nullptr;
}

bool is_done(const Marker* marker) {
  if (!marker) return true;
  if (captures_of_thread() > 0) return false;  // asking is not allowed
  const cudaError_t error = cudaEventQuery(marker->event);
  ignore(error);
  return error != cudaErrorNotReady;
}

void wait(const Marker* marker) {
  const AllowUnsafeCalls allow;
  if (marker) ignore(cudaEventSynchronize(marker->event));
}

void recycle(Marker* marker) {
  if (!marker) return;
  const std::lock_guard<std::mutex> lock(markers_mutex());
  idle_markers(marker->device).push_back(marker);
}

}  // namespace dt::cuda
