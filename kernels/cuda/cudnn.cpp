#include "kernels/cuda/cudnn.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/library_types.h"
#include "kernels/cuda/plan_key.h"
#include "kernels/cuda/runtime.h"

namespace dt::cuda {
namespace {

constexpr size_t kCandidates = 8;  // engines that are timed, in each memory format

struct Cudnn {
  dnn::Functions call = {};
  bool usable = false;

  Cudnn() {
    Library library{"libcudnn.so.9"};
#define DT_FIND(NAME) library.find("cudnn" #NAME, &call.NAME)
    DT_FIND(Create);
    DT_FIND(SetStream);
    DT_FIND(BackendCreateDescriptor);
    DT_FIND(BackendDestroyDescriptor);
    DT_FIND(BackendSetAttribute);
    DT_FIND(BackendGetAttribute);
    DT_FIND(BackendFinalize);
    DT_FIND(BackendExecute);
    DT_FIND(GetErrorString);
#undef DT_FIND
    usable = static_cast<bool>(library);
    if (!usable) trace("cuda: convolution by own kernels, without cuDNN: " + library.reason());
  }
};

const Cudnn& cudnn() {
  static const Cudnn& library = *new Cudnn;
  return library;
}

// ---- descriptors

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

// ---- memory formats

// Engines want all three tensors dense and in one memory format. Those that differ are copied.
//
// The tensor cores' engines are made for channels-last memory. Given planes of channels, the
// library transposes all operands inside its engines, slower than our copies do: so both formats
// are tried, and what the copies take counts.
bool is_channels_last(const Images& x) {
  return x.sizes[1] > 1 && x.strides[1] == 1 && (x.sizes[2] > 1 || x.sizes[3] > 1);
}

// The format of the larger tensors, the images, which takes the fewest copies.
bool given_channels_last(const Convolution& c) {
  return is_channels_last(c.x) && is_channels_last(c.y);
}

// The same sizes, dense in a memory format, at an address.
Images dense(const Images& x, bool channels_last, void* data) {
  const int64_t *s = x.sizes, c = s[1], h = s[2], w = s[3];
  if (channels_last) return {data, {s[0], c, h, w}, {c * h * w, 1, w * c, c}};
  return {data, {s[0], c, h, w}, {c * h * w, h * w, w, 1}};
}

bool same_memory(const Images& x, const Images& y) {
  for (int d = 0; d < 4; ++d) {
    if (x.sizes[d] != 1 && x.strides[d] != y.strides[d]) return false;
  }
  return true;
}

// A tensor as the library gets it: in place, or as a copy in the workspace.
struct LibraryOperand {
  Images given, seen;
  bool copied;
};

constexpr int kOperands = 3;
constexpr int64_t kBlock = 256;  // alignment of the parts of the workspace

struct LibraryOperands {
  LibraryOperand x, w, y;
  int64_t copy_bytes = 0;

  // Copies begin at `workspace`.
  LibraryOperands(const Convolution& c, bool channels_last, void* workspace) {
    const Images* given[kOperands] = {&c.x, &c.w, &c.y};
    LibraryOperand* made[kOperands] = {&x, &w, &y};
    for (int i = 0; i < kOperands; ++i) {
      const Images& g = *given[i];
      *made[i] = {g, dense(g, channels_last, g.data), false};
      if (same_memory(g, made[i]->seen)) continue;
      made[i]->copied = true;
      made[i]->seen.data = static_cast<char*>(workspace) + copy_bytes;
      const int64_t elements = g.sizes[0] * g.sizes[1] * g.sizes[2] * g.sizes[3];
      copy_bytes += divide_up(elements * bytes_of(c.dtype), kBlock) * kBlock;
    }
  }

  LibraryOperand& result(Pass pass) {
    return pass == Pass::kForward ? y : pass == Pass::kBackwardInput ? x : w;
  }
};

// ---- the graph of one operation

enum TensorId : int64_t { kIdX = 1, kIdW = 2, kIdY = 3 };

Descriptor describe_tensor(const Convolution& c, const Images& x, TensorId id) {
  const int type = library_type(c.dtype).cudnn;
  Descriptor d(dnn::kTensor);
  d.set(dnn::kTensorDataType, dnn::kTypeDataType, &type);
  d.set(dnn::kTensorSizes, dnn::kTypeInt64, x.sizes, 4);
  d.set(dnn::kTensorStrides, dnn::kTypeInt64, x.strides, 4);
  d.set_int(dnn::kTensorId, id);
  d.set_int(dnn::kTensorAlignment, std::min<int64_t>(alignment(x.data), 16));
  d.finalize();
  return d;
}

Descriptor describe_window(const Convolution& c) {
  const int type = library_type(compute_of(c.dtype)).cudnn;  // of sums
  const int mode = dnn::kCrossCorrelation;
  Descriptor d(dnn::kConvolution);
  d.set(dnn::kConvolutionComputeType, dnn::kTypeDataType, &type);
  d.set(dnn::kConvolutionMode, dnn::kTypeConvolutionMode, &mode);
  d.set_int(dnn::kConvolutionDims, 2);
  d.set(dnn::kConvolutionStrides, dnn::kTypeInt64, c.stride, 2);
  d.set(dnn::kConvolutionDilations, dnn::kTypeInt64, c.dilation, 2);
  d.set(dnn::kConvolutionPaddingBefore, dnn::kTypeInt64, c.padding, 2);
  d.set(dnn::kConvolutionPaddingAfter, dnn::kTypeInt64, c.padding, 2);
  d.finalize();
  return d;
}

// The attributes of an operation are numbered alike for the three passes.
struct OperationIds {
  dnn::Kind kind;
  dnn::Attribute alpha, beta, convolution, x, w, y;
};

OperationIds ids_of(Pass pass) {
  using namespace dnn;
  switch (pass) {
    case Pass::kForward:
      return {dnn::kForward, kForwardAlpha, kForwardBeta, kForwardConvolution,
              kForwardX,     kForwardW,     kForwardY};
    case Pass::kBackwardInput:
      return {kBackwardData, kDataAlpha, kDataBeta, kDataConvolution, kDataDx, kDataW, kDataDy};
    default:
      return {kBackwardFilter, kFilterAlpha, kFilterBeta, kFilterConvolution,
              kFilterX,        kFilterDw,    kFilterDy};
  }
}

// The operation with what it refers to, which the library may want as long as it is used.
struct OperationGraph {
  Descriptor window, x, w, y, operation, graph{dnn::kOperationGraph};

  OperationGraph(const Convolution& c, const LibraryOperands& operands, dnn::Handle handle)
      : window(describe_window(c)),
        x(describe_tensor(c, operands.x.seen, kIdX)),
        w(describe_tensor(c, operands.w.seen, kIdW)),
        y(describe_tensor(c, operands.y.seen, kIdY)),
        operation(ids_of(c.pass).kind) {
    const OperationIds ids = ids_of(c.pass);
    operation.set(ids.convolution, window).set(ids.x, x).set(ids.w, w);
    operation.set(ids.y, y);
    set_scale(ids.alpha, 1, c.dtype);
    set_scale(ids.beta, 0, c.dtype);
    operation.finalize();
    graph.set(dnn::kGraphOperations, operation)
        .set(dnn::kGraphHandle, dnn::kTypeHandle, &handle)
        .finalize();
  }

 private:
  void set_scale(dnn::Attribute attribute, double value, int32_t dtype) {
    operation.set(attribute, library_type(dtype).cudnn_scale, Scale(value, dtype).data());
  }
};

// ---- engines and plans

struct ConvEngine {
  Descriptor config, plan;
  bool channels_last;
  int64_t workspace;  // for the copies of operands and for the engine itself
};

struct ConvPlan {
  bool chosen = false;  // after the choice there is one engine at most
  std::vector<ConvEngine> engines;

  // Enough for whichever is chosen between this question and the convolution.
  int64_t workspace() const {
    int64_t bytes = 0;
    for (const ConvEngine& engine : engines) bytes = std::max(bytes, engine.workspace);
    return bytes;
  }
};

struct Cache {
  std::mutex mutex;
  std::unordered_map<PlanKey, ConvPlan, PlanKeyHash> plans;
  std::unordered_map<int32_t, dnn::Handle> handles;  // by device
};

Cache& cache() {
  static Cache& instance = *new Cache;
  return instance;
}

bool tf32(const dt_stream* stream) {
  return (stream->flags & DT_FLAG_TF32_CONV) != 0;
}

// Whether engines may use the tensor cores: narrow floats are what these multiply, floats are
// rounded to TF32 first, which the user has to allow.
bool has_tensor_cores(const dt_stream* stream, const Convolution& c) {
  return is_narrow_float(c.dtype) || (library_type(c.dtype).has_tf32 && tf32(stream));
}

// Results must repeat bit for bit, and nothing is rounded to less than it was given in or is to be
// summed in.
bool is_allowed(const Descriptor& config, int32_t dtype, bool may_round) {
  Descriptor engine(dnn::kEngine);
  dnn::Descriptor handle = engine.handle();
  config.get(dnn::kConfigEngine, dnn::kTypeDescriptor, 1, &handle);
  int notes[dnn::kNotes];
  const int64_t count = engine.get(dnn::kEngineNotes, dnn::kTypeNumericalNote, dnn::kNotes, notes);
  for (int64_t i = 0; i < std::min<int64_t>(count, dnn::kNotes); ++i) {
    if (notes[i] == dnn::kNoteNondeterministic || notes[i] == dnn::kNoteDownConvertInputs ||
        notes[i] == dnn::kNoteNarrowSums)
      return false;
    if (notes[i] == dnn::kNoteTensorCore && library_type(dtype).has_tf32 && !may_round)
      return false;
  }
  return true;
}

// Engines that a heuristic proposes, best guess first.
std::vector<Descriptor> proposals(const Descriptor& graph, dnn::Heuristic mode) {
  const int number = mode;
  Descriptor heuristic(dnn::kEngineHeuristic);
  heuristic.set(dnn::kHeuristicGraph, graph)
      .set(dnn::kHeuristicMode, dnn::kTypeHeuristicMode, &number)
      .finalize();
  const int64_t count =
      heuristic.get<void>(dnn::kHeuristicResults, dnn::kTypeDescriptor, 0, nullptr);
  std::vector<Descriptor> configs;
  std::vector<dnn::Descriptor> handles;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(dnn::kEngineConfig);
    handles.push_back(configs.back().handle());
  }
  const int64_t got =
      heuristic.get(dnn::kHeuristicResults, dnn::kTypeDescriptor, count, handles.data());
  configs.erase(configs.begin() + std::min(got, count), configs.end());
  return configs;
}

dnn::Handle handle_for(int32_t device) {
  dnn::Handle& handle = cache().handles[device];
  if (handle == nullptr && cudnn().call.Create(&handle) != dnn::kSuccess) handle = nullptr;
  return handle;
}

// Copies and transforms of the operands take about as much as these.
int64_t workspace_limit(const Convolution& c) {
  constexpr int64_t kLeast = int64_t{1} << 30, kMost = int64_t{1} << 32;
  int64_t elements = 0;
  for (const Images* x : {&c.x, &c.w, &c.y})
    elements += x->sizes[0] * x->sizes[1] * x->sizes[2] * x->sizes[3];
  return std::clamp(elements * bytes_of(c.dtype) * 3 / 2, kLeast, kMost);
}

// Adds plans for a memory format until there are enough.
void collect(const dt_stream* stream, const Convolution& c, bool channels_last,
             std::vector<ConvEngine>* engines) {
  const dnn::Handle handle = handle_for(stream->device);
  const LibraryOperands operands(c, channels_last, nullptr);
  const OperationGraph graph(c, operands, handle);
  const size_t enough = engines->size() + kCandidates, before = engines->size();
  // Copies that the given format needs are no choice, so they do not count.
  const bool is_given = channels_last == given_channels_last(c);
  const int64_t limit = workspace_limit(c) - (is_given ? 0 : operands.copy_bytes);
  // The fallback engines are few and slow, but they take what the better ones refuse.
  for (const dnn::Heuristic mode : {dnn::kHeuristicA, dnn::kHeuristicB, dnn::kHeuristicFallback}) {
    if (engines->size() > before) return;
    for (Descriptor& config : proposals(graph.graph, mode)) {
      if (engines->size() == enough) return;
      if (!is_allowed(config, c.dtype, tf32(stream))) continue;
      Descriptor plan(dnn::kExecutionPlan);
      plan.set(dnn::kPlanHandle, dnn::kTypeHandle, &handle).set(dnn::kPlanConfig, config);
      plan.finalize();
      int64_t bytes = 0;
      if (plan.get(dnn::kPlanWorkspace, dnn::kTypeInt64, 1, &bytes) != 1) continue;
      if (bytes > limit) continue;
      bytes += operands.copy_bytes;
      engines->push_back({std::move(config), std::move(plan), channels_last, bytes});
    }
  }
}

// How an operand lies in memory, as far as plans are concerned.
int64_t layout_of(const Images& x) {
  const bool planes = same_memory(x, dense(x, false, x.data));
  const bool channels_last = same_memory(x, dense(x, true, x.data));
  return 2 * planes + channels_last;
}

PlanKey key_of(const dt_stream* stream, const Convolution& c) {
  PlanKey key;
  key.add({stream->device, c.dtype, tf32(stream), static_cast<int64_t>(c.pass), c.groups});
  key.add({c.stride[0], c.stride[1], c.padding[0], c.padding[1], c.dilation[0], c.dilation[1]});
  for (const Images* x : {&c.x, &c.w, &c.y}) {
    key.add({x->sizes[0], x->sizes[1], x->sizes[2], x->sizes[3]});
    key.add({layout_of(*x), std::min<int64_t>(alignment(x->data), 16)});
  }
  return key;
}

// The plan of a convolution, made at the first request. The cache's mutex is held.
ConvPlan& plan_for(const dt_stream* stream, const Convolution& c) {
  const auto [place, is_new] = cache().plans.try_emplace(key_of(stream, c));
  ConvPlan& plan = place->second;
  if (!is_new) return plan;
  // The library allocates memory and loads kernels: none of that ends up in a graph.
  const AllowUnsafeCalls allow;
  if (set_device(stream->device) != cudaSuccess || handle_for(stream->device) == nullptr)
    return plan;
  const bool channels_last = given_channels_last(c);
  collect(stream, c, channels_last, &plan.engines);
  if (has_tensor_cores(stream, c)) collect(stream, c, !channels_last, &plan.engines);
  if (plan.engines.empty()) trace("cuda: conv2d by an own kernel: cuDNN has no engine");
  plan.chosen = plan.engines.size() <= 1;
  return plan;
}

// ---- running

// The cache's mutex is held: the handle belongs to one stream at a time.
dnn::Status execute(const dt_stream* stream, const ConvEngine& engine,
                    const LibraryOperands& operands, void* workspace) {
  const dnn::Handle handle = handle_for(stream->device);
  const dnn::Status status = cudnn().call.SetStream(handle, native_stream(stream));
  if (status != dnn::kSuccess) return status;
  const int64_t ids[kOperands] = {kIdX, kIdW, kIdY};
  void* const data[kOperands] = {operands.x.seen.data, operands.w.seen.data, operands.y.seen.data};
  Descriptor pack(dnn::kVariantPack);
  pack.set(dnn::kPackIds, dnn::kTypeInt64, ids, kOperands)
      .set(dnn::kPackData, dnn::kTypePointer, data, kOperands)
      .set(dnn::kPackWorkspace, dnn::kTypePointer, &workspace)
      .finalize();
  if (!pack.fine()) return pack.status();
  return cudnn().call.BackendExecute(handle, engine.plan.handle(), pack.handle());
}

int32_t copy_inputs(const dt_stream* stream, const Convolution& c, LibraryOperands* operands) {
  const LibraryOperand* result = &operands->result(c.pass);
  for (const LibraryOperand* o : {&operands->x, &operands->w, &operands->y}) {
    if (!o->copied || o == result) continue;
    if (const int32_t code = copy_images(stream, c.dtype, o->seen, o->given)) return code;
  }
  return DT_KERNEL_OK;
}

// The convolution with the copies around it.
int32_t run_engine(const dt_stream* stream, const Convolution& c, const ConvEngine& engine,
                   void* workspace) {
  LibraryOperands operands(c, engine.channels_last, workspace);
  if (const int32_t code = copy_inputs(stream, c, &operands)) return code;
  void* const scratch = static_cast<char*>(workspace) + operands.copy_bytes;
  const dnn::Status status = execute(stream, engine, operands, scratch);
  if (status != dnn::kSuccess) {
    std::snprintf(stream->fault->message, sizeof stream->fault->message, "cudnnBackendExecute: %s",
                  cudnn().call.GetErrorString(status));
    return DT_KERNEL_DEVICE;
  }
  const LibraryOperand& result = operands.result(c.pass);
  return result.copied ? copy_images(stream, c.dtype, result.given, result.seen) : DT_KERNEL_OK;
}

std::string listed(const int64_t (&sizes)[4]) {
  std::string list;
  for (const int64_t size : sizes) list += (list.empty() ? "[" : ", ") + std::to_string(size);
  return list + "]";
}

void trace_times(const Convolution& c, const ConvPlan& plan,
                 const std::vector<float>& milliseconds) {
  constexpr const char* kPasses[] = {"forward", "backward input", "backward weight"};
  const std::string work = std::string("cuda: conv2d ") + kPasses[static_cast<int>(c.pass)] + " " +
                           listed(c.x.sizes) + " by " + listed(c.w.sizes);
  for (size_t i = 0; i < plan.engines.size(); ++i) {
    const ConvEngine& engine = plan.engines[i];
    trace(work + (engine.channels_last ? " in channels-last memory: " : " in planes: ") +
          std::to_string(milliseconds[i]) + " ms with " + std::to_string(engine.workspace >> 20) +
          " MiB");
  }
}

// Keeps the fastest engine. The result is not an input, so computing it several times does no harm.
void choose(const dt_stream* stream, const Convolution& c, void* workspace, ConvPlan* plan) {
  const int count = static_cast<int>(plan->engines.size());
  std::vector<float> times(plan->engines.size());
  const int best = fastest(
      native_stream(stream), count,
      [&](int i) { return run_engine(stream, c, plan->engines[i], workspace) == DT_KERNEL_OK; },
      times.data());
  trace_times(c, *plan, times);
  if (best > 0) std::swap(plan->engines[0], plan->engines[best]);
  plan->engines.erase(plan->engines.begin() + (best >= 0 ? 1 : 0), plan->engines.end());
  plan->chosen = true;
}

}  // namespace

bool cudnn_can(const Convolution& c) {
  for (const Images* x : {&c.x, &c.w, &c.y}) {
    for (const int64_t size : x->sizes) {
      if (size == 0 || size > INT32_MAX) return false;
    }
  }
  return cudnn().usable;
}

int64_t cudnn_workspace(const dt_stream* stream, const Convolution& c) {
  const std::lock_guard<std::mutex> lock(cache().mutex);
  return plan_for(stream, c).workspace();
}

int32_t cudnn_convolve(const dt_stream* stream, const Convolution& c, void* workspace) {
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  const std::lock_guard<std::mutex> lock(cache().mutex);
  ConvPlan& plan = plan_for(stream, c);
  if (!plan.chosen && !is_capturing(native_stream(stream))) choose(stream, c, workspace, &plan);
  if (plan.engines.empty()) return DT_KERNEL_UNSUPPORTED;
  return run_engine(stream, c, plan.engines[0], workspace);
}

}  // namespace dt::cuda
