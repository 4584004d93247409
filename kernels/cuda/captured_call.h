// The place of a call in a graph. A stream that is captured puts one call behind the other. What a
// graph runs need not wait so long: a call waits for those that touch the same memory, and branches
// that have nothing to do with each other run at the same time. A step of training whose kernels
// are small gains most: gradients of weights are nobody's input but the optimizer's.
//
// That is known because a call says all that a kernel touches: its operands and its workspace.
#pragma once

#include "kernels/cuda/call_order.h"
#include "kernels/cuda/runtime.h"

namespace dt::cuda {

// The calls that one stream gives to a capture.
struct StreamOrder {
  CallOrder calls;
  std::vector<std::vector<cudaGraphNode_t>> nodes;  // of each call, by which it is done
  std::vector<cudaGraphNode_t> left;                // what the stream waits for between calls
};

// Of a stream that a capture of ours records; else null (capture.cpp).
StreamOrder* order_of(cudaStream_t stream);
// What the next node of the stream will wait for, if it is captured (capture.cpp).
cudaStreamCaptureStatus nodes_before(cudaStream_t stream, std::vector<cudaGraphNode_t>* nodes);

// While it lives, a kernel is sent behind what its call has to wait for. Before and after, the
// stream waits for all calls, so nothing else needs to know of it: copies, events, other streams
// and kernels of other people are ordered as ever. A stream belongs to one thread as long as it is
// captured.
class CapturedCall {
 public:
  CapturedCall(const dt_stream* stream, const dt_call* call, int64_t workspace_bytes);
  ~CapturedCall();
  CapturedCall(const CapturedCall&) = delete;
  CapturedCall& operator=(const CapturedCall&) = delete;

 private:
  cudaStream_t stream_;
  StreamOrder* order_;  // null: nothing of ours is captured
};

template <dt_kernel* kKernel, dt_workspace* kWorkspace>
int32_t run_captured(const dt_stream* stream, const dt_call* call) {
  if (captures_underway() == 0) return kKernel(stream, call);
  int64_t workspace_bytes = 0;
  if constexpr (kWorkspace != nullptr) {
    if (call->workspace != nullptr) workspace_bytes = kWorkspace(stream, call);
  }
  const CapturedCall captured(stream, call, workspace_bytes);
  return kKernel(stream, call);
}

// How kernels stand in the plugin's table.
template <dt_kernel* kKernel, dt_workspace* kWorkspace = nullptr>
void add_captured(dt_registry* registry, const char* op) {
  registry->add(registry, op, run_captured<kKernel, kWorkspace>, kWorkspace);
}

}  // namespace dt::cuda
