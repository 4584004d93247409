#include "kernels/cuda/captured_call.h"

#include <algorithm>

#include "kernels/calls/call.h"
#include "kernels/dtype.h"

namespace dt::cuda {
namespace {

void wait_for(cudaStream_t stream, std::vector<cudaGraphNode_t>& nodes) {
#if CUDART_VERSION >= 13000
  ignore(cudaStreamUpdateCaptureDependencies(stream, nodes.data(), nullptr, nodes.size(),
                                             cudaStreamSetCaptureDependencies));
#else
  ignore(cudaStreamUpdateCaptureDependencies(stream, nodes.data(), nodes.size(),
                                             cudaStreamSetCaptureDependencies));
#endif
}

std::vector<cudaGraphNode_t> nodes_of(const StreamOrder& order, const std::vector<int>& calls) {
  std::vector<cudaGraphNode_t> nodes;
  for (int call : calls)
    nodes.insert(nodes.end(), order.nodes[call].begin(), order.nodes[call].end());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

// From the first element of an operand to the last, and what is between them.
Touched touched_by(const dt_view& view, bool is_written) {
  int64_t first = 0, last = 0, elements = 1;
  for (int d = 0; d < view.ndim; ++d) {
    const int64_t reach = (view.sizes[d] - 1) * view.strides[d];
    (reach < 0 ? first : last) += reach;
    elements *= view.sizes[d];
  }
  const auto data = reinterpret_cast<uintptr_t>(view.data);
  const bool is_absent = view.dtype == 0 || view.immediate != 0 || elements == 0;
  if (is_absent) return {data, data, is_written};
  const int64_t width = bytes_of(view.dtype);
  return {data + static_cast<uintptr_t>(first * width),
          data + static_cast<uintptr_t>((last + 1) * width), is_written};
}

std::vector<Touched> touched_by(const dt_call* call, int64_t workspace_bytes) {
  std::vector<Touched> touched;
  for (const dt_view& y : calls::outputs(*call)) touched.push_back(touched_by(y, true));
  for (const dt_view& x : calls::inputs(*call)) touched.push_back(touched_by(x, false));
  const auto workspace = reinterpret_cast<uintptr_t>(call->workspace);
  if (workspace != 0)
    touched.push_back({workspace, workspace + static_cast<uintptr_t>(workspace_bytes), true});
  return touched;
}

}  // namespace

CapturedCall::CapturedCall(const dt_stream* stream, const dt_call* call, int64_t workspace_bytes)
    : stream_(native_stream(stream)), order_(order_of(stream_)) {
  std::vector<cudaGraphNode_t> before;
  if (order_ == nullptr || nodes_before(stream_, &before) != cudaStreamCaptureStatusActive) {
    order_ = nullptr;
    return;
  }
  std::vector<Touched> touched = touched_by(call, workspace_bytes);
  std::sort(before.begin(), before.end());
  // Somebody else has sent something, or waits for it, or the calls are so many that it takes long
  // to compare them. What follows waits for this call, too: a graph that begins in several places
  // takes longer to begin.
  constexpr size_t kMostCalls = 4096;
  const size_t calls = order_->nodes.size();
  if (before != order_->left || calls == 0 || calls > kMostCalls) {
    order_->calls.clear();
    order_->calls.add({kEverything});
    order_->nodes = {before};
    touched = {kEverything};
  }
  before = nodes_of(*order_, order_->calls.add(touched));
  wait_for(stream_, before);
}

CapturedCall::~CapturedCall() {
  if (order_ == nullptr) return;
  order_->nodes.emplace_back();
  if (nodes_before(stream_, &order_->nodes.back()) != cudaStreamCaptureStatusActive) return;
  order_->left = nodes_of(*order_, order_->calls.last());
  wait_for(stream_, order_->left);
}

}  // namespace dt::cuda
