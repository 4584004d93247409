// Capturing what is sent to a stream as a CUDA graph, and launching it.
//
// Captures are thread-local: what other threads do meanwhile is not refused to them. What a capture
// cannot stand, from any thread, is that somebody waits for the whole device; see
// Driver::may_free and synchronize.
#include <stdio.h>

#include <map>
#include <mutex>

#include "kernels/cuda/captured_call.h"
#include "kernels/cuda/runtime.h"

namespace dt::cuda {

namespace {

struct Graph {
  cudaGraphExec_t exec = nullptr;
  Allocator::Arena* arena = nullptr;
  std::vector<void*> pinned;  // blocks that its copies read or write
};

struct Recording {
  uint64_t id;
  Graph graph;
  std::map<cudaStream_t, StreamOrder> orders;
};

std::atomic<int> underway{0};
std::atomic<int> underway_on[kMaxDevices];
thread_local int of_thread = 0;

std::mutex& recordings_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

// By the stream that the capture began on; other streams can join it.
std::map<cudaStream_t, Recording>& recordings() {
  static auto* all = new std::map<cudaStream_t, Recording>;
  return *all;
}

void let_go(int32_t device, Graph& graph) {
  if (graph.exec) ignore(cudaGraphExecDestroy(graph.exec));
  for (void* block : graph.pinned) pinned_cache().forget(block);
  find_device(device)->allocator->drop_graph(graph.arena);
}

}  // namespace

int captures_underway() {
  return underway;
}

int captures_on(int32_t device) {
  return underway_on[device];
}

int captures_of_thread() {
  return of_thread;
}

uint64_t capture_of(cudaStream_t stream) {
  if (underway == 0) return 0;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  ignore(cudaStreamGetCaptureInfo(stream, &status, &id));
  return status == cudaStreamCaptureStatusNone ? 0 : id;
}

StreamOrder* order_of(cudaStream_t stream) {
  const uint64_t id = capture_of(stream);
  if (id == 0) return nullptr;
  const std::lock_guard<std::mutex> lock(recordings_mutex());
  for (auto& [origin, recording] : recordings()) {
    if (recording.id == id) return &recording.orders[stream];
  }
  return nullptr;
}

cudaStreamCaptureStatus nodes_before(cudaStream_t stream, std::vector<cudaGraphNode_t>* nodes) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* before = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  const cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &before, &edges, &count);
#else
  const cudaError_t error =
      cudaStreamGetCaptureInfo_v3(stream, &status, nullptr, nullptr, &before, &edges, &count);
#endif
  ignore(error);
  if (error) return cudaStreamCaptureStatusInvalidated;
  nodes->assign(before, before + count);
  return status;
}

// In a graph only a kernel can let its successor come: not a copy, nor several branches at once.
bool may_start_early(int32_t device, cudaStream_t stream) {
  if (!find_device(device)->runs_code_for_sm_90) return false;
  if (underway == 0) return true;
  std::vector<cudaGraphNode_t> before;
  const cudaStreamCaptureStatus status = nodes_before(stream, &before);
  if (status != cudaStreamCaptureStatusActive) return status == cudaStreamCaptureStatusNone;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  if (before.size() == 1) ignore(cudaGraphNodeGetType(before[0], &type));
  return type == cudaGraphNodeTypeKernel;
}

int32_t refuse_in_capture(const char* what, dt_fault* fault) {
  snprintf(fault->message, sizeof(fault->message),
           "%s is not permitted while a graph is captured: the work is only recorded, and nothing "
           "is computed before the graph is launched",
           what);
  return DT_KERNEL_DEVICE;
}

bool keep_for_graph(cudaStream_t stream, const void* host) {
  const uint64_t id = capture_of(stream);
  if (void* block = pinned_cache().keep(host)) {
    const std::lock_guard<std::mutex> lock(recordings_mutex());
    for (auto& [origin, recording] : recordings()) {
      if (recording.id != id) continue;
      recording.graph.pinned.push_back(block);
      return true;
    }
    pinned_cache().forget(block);  // a capture of somebody else's
    return true;
  }
  cudaPointerAttributes attributes = {};
  ignore(cudaPointerGetAttributes(&attributes, host));
  return attributes.type == cudaMemoryTypeHost;  // page-locked by somebody else
}

int32_t capture_begin(int32_t device, void* stream, dt_fault* fault) {
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  const cudaStream_t origin = resolve(device, stream);
  if (capture_of(origin)) return refuse_in_capture("beginning another capture", fault);
  Allocator& allocator = *find_device(device)->allocator;
  // The graph takes its memory from the driver: what is cached is not for it and cannot be given
  // back while the capture lasts.
  allocator.empty_cache();
  cudaError_t error = cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal);
  if (const int32_t code = check(error, "cudaStreamBeginCapture", fault)) return code;
  ++underway;
  ++underway_on[device];
  ++of_thread;
  Recording recording = {capture_of(origin), {}, {}};
  recording.graph.arena = allocator.begin_capture(recording.id);
  const std::lock_guard<std::mutex> lock(recordings_mutex());
  recordings()[origin] = std::move(recording);
  return DT_KERNEL_OK;
}

namespace {

int32_t instantiate(cudaGraph_t plan, cudaStream_t stream, Graph& graph, dt_fault* fault) {
  cudaError_t error = cudaGraphInstantiate(&graph.exec, plan, 0);
  if (const int32_t code = check(error, "cudaGraphInstantiate", fault)) return code;
  return check(cudaGraphUpload(graph.exec, stream), "cudaGraphUpload", fault);
}

bool take_recording(cudaStream_t origin, Recording* recording) {
  const std::lock_guard<std::mutex> lock(recordings_mutex());
  const auto found = recordings().find(origin);
  if (found == recordings().end()) return false;
  *recording = std::move(found->second);
  recordings().erase(found);
  return true;
}

}  // namespace

int32_t capture_end(int32_t device, void* stream, void** graph, dt_fault* fault) {
  if (graph) *graph = nullptr;
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  const cudaStream_t origin = resolve(device, stream);
  cudaGraph_t plan = nullptr;
  const cudaError_t error = cudaStreamEndCapture(origin, &plan);
  int32_t code = check(error, "cudaStreamEndCapture", fault);
  Recording recording;
  // A wrong thread cannot end a capture: it goes on.
  if (error == cudaErrorStreamCaptureWrongThread || !take_recording(origin, &recording))
    return code;
  --underway;
  --underway_on[device];
  --of_thread;
  find_device(device)->allocator->end_capture(recording.graph.arena);
  if (code == DT_KERNEL_OK && graph) code = instantiate(plan, origin, recording.graph, fault);
  if (plan) ignore(cudaGraphDestroy(plan));
  if (code == DT_KERNEL_OK && graph)
    *graph = new Graph(std::move(recording.graph));
  else
    let_go(device, recording.graph);
  return graph ? code : DT_KERNEL_OK;
}

int32_t graph_launch(int32_t device, void* graph, void* stream, dt_fault* fault) {
  if (const int32_t code = check(set_device(device), "cudaSetDevice", fault)) return code;
  const cudaStream_t order = resolve(device, stream);
  const Graph& launched = *static_cast<Graph*>(graph);
  const cudaError_t error = cudaGraphLaunch(launched.exec, order);
  if (const int32_t code = check(error, "cudaGraphLaunch", fault)) return code;
  for (void* block : launched.pinned) pinned_cache().copied(block, order);
  return DT_KERNEL_OK;
}

void graph_destroy(int32_t device, void* graph) {
  Graph* gone = static_cast<Graph*>(graph);
  if (gone && set_device(device) == cudaSuccess) let_go(device, *gone);
  delete gone;
}

}  // namespace dt::cuda
