// cuDNN 9's graphs, for whoever wants operations done by its engines: the library, its descriptors,
// and the plans that its heuristics propose for a graph. The library is opened when it is first
// asked for.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn_api.h"
#include "kernels/cuda/runtime.h"

namespace dt::cuda {

struct Cudnn {
  dnn::Functions call = {};
  bool usable = false;

  Cudnn();
};

const Cudnn& cudnn();

// Held by whoever uses a handle, which belongs to one stream at a time, or a cache of plans.
std::mutex& cudnn_mutex();
// The library's handle for a device; null if it cannot be made.
dnn::Handle cudnn_handle(int32_t device);

// A descriptor under construction. The first thing that fails is kept; what follows is skipped.
class Descriptor {
 public:
  explicit Descriptor(dnn::Kind kind) {
    status_ = cudnn().call.BackendCreateDescriptor(kind, &handle_);
  }
  ~Descriptor() {
    if (handle_ != nullptr) cudnn().call.BackendDestroyDescriptor(handle_);
  }
  Descriptor(Descriptor&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), status_(other.status_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(status_, other.status_);
    return *this;
  }

  template <class T>
  Descriptor& set(dnn::Attribute attribute, dnn::Type type, const T* values, int64_t count = 1) {
    if (fine()) status_ = cudnn().call.BackendSetAttribute(handle_, attribute, type, count, values);
    return *this;
  }
  Descriptor& set_int(dnn::Attribute attribute, int64_t value) {
    return set(attribute, dnn::kTypeInt64, &value);
  }
  // One of the library's enums.
  Descriptor& set_enum(dnn::Attribute attribute, dnn::Type type, int value) {
    return set(attribute, type, &value);
  }
  Descriptor& set(dnn::Attribute attribute, const Descriptor& value) {
    if (fine()) status_ = value.status_;
    return set(attribute, dnn::kTypeDescriptor, &value.handle_);
  }
  Descriptor& finalize() {
    if (fine()) status_ = cudnn().call.BackendFinalize(handle_);
    return *this;
  }
  // How many values there are; at most `wanted` are written.
  template <class T>
  int64_t get(dnn::Attribute attribute, dnn::Type type, int64_t wanted, T* values) const {
    int64_t count = 0;
    const dnn::Status status =
        fine() ? cudnn().call.BackendGetAttribute(handle_, attribute, type, wanted, &count, values)
               : status_;
    return status == dnn::kSuccess ? count : 0;
  }

  bool fine() const { return status_ == dnn::kSuccess; }
  dnn::Status status() const { return status_; }
  dnn::Descriptor handle() const { return handle_; }

 private:
  dnn::Descriptor handle_ = nullptr;
  dnn::Status status_ = dnn::kSuccess;
};

// A way to run a graph.
struct Engine {
  Descriptor config, plan;
  int64_t workspace;
};

// What is asked of engines that work on elements of `dtype`.
struct EngineDemands {
  int32_t dtype;
  bool may_round;  // floats to TF32
  bool may_vary;   // results from run to run, in their last bits
  size_t enough;   // engines: no other heuristic is asked for more
  size_t count;    // at most
  int64_t bytes;   // of scratch memory, at most
};

// Ways to run a finalized graph, best guess first. Those that round to less than is given or summed
// in are left out.
std::vector<Engine> engines_for(const Descriptor& graph, dnn::Handle handle,
                                const EngineDemands& demands);

// Runs a plan on the stream. ids[i] is the id of the tensor at data[i].
dnn::Status run_plan(const dt_stream* stream, const Descriptor& plan, const int64_t* ids,
                     void* const* data, int64_t count, void* workspace);
// What the library said, as the kernel's fault.
int32_t cudnn_fault(const dt_stream* stream, dnn::Status status);

}  // namespace dt::cuda
