#include "kernels/cuda/cudnn_conv.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/library_types.h"
#include "kernels/cuda/may_vary.h"
#include "kernels/cuda/plan_key.h"
#include "kernels/cuda/runtime.h"

namespace dt::cuda {
namespace {

// Engines that are timed, in each memory format. If less than enough of what the first heuristic
// proposes are allowed, the others are asked.
constexpr size_t kEnough = 4, kCandidates = 8;

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
  Engine engine;
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

std::unordered_map<PlanKey, ConvPlan, PlanKeyHash>& plans() {
  static auto& instance = *new std::unordered_map<PlanKey, ConvPlan, PlanKeyHash>;
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

// Copies and transforms of the operands take about as much as these.
int64_t workspace_limit(const Convolution& c) {
  constexpr int64_t kLeast = int64_t{1} << 30, kMost = int64_t{1} << 32;
  int64_t elements = 0;
  for (const Images* x : {&c.x, &c.w, &c.y})
    elements += x->sizes[0] * x->sizes[1] * x->sizes[2] * x->sizes[3];
  return std::clamp(elements * bytes_of(c.dtype) * 3 / 2, kLeast, kMost);
}

// Adds engines for a memory format.
void collect(const dt_stream* stream, const Convolution& c, bool channels_last,
             std::vector<ConvEngine>* engines) {
  const dnn::Handle handle = cudnn_handle(stream->device);
  const LibraryOperands operands(c, channels_last, nullptr);
  const OperationGraph graph(c, operands, handle);
  // Copies that the given format needs are no choice, so they do not count.
  const bool is_given = channels_last == given_channels_last(c);
  const int64_t limit = workspace_limit(c) - (is_given ? 0 : operands.copy_bytes);
  const EngineDemands demands = {c.dtype, tf32(stream), may_vary(stream),
                                 kEnough, kCandidates,  limit};
  for (Engine& engine : engines_for(graph.graph, handle, demands)) {
    const int64_t bytes = engine.workspace + operands.copy_bytes;
    engines->push_back({std::move(engine), channels_last, bytes});
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
  key.add({stream->device, c.dtype, tf32(stream), may_vary(stream), static_cast<int64_t>(c.pass)});
  key.add({c.groups});
  key.add({c.stride[0], c.stride[1], c.padding[0], c.padding[1], c.dilation[0], c.dilation[1]});
  for (const Images* x : {&c.x, &c.w, &c.y}) {
    key.add({x->sizes[0], x->sizes[1], x->sizes[2], x->sizes[3]});
    key.add({layout_of(*x), std::min<int64_t>(alignment(x->data), 16)});
  }
  return key;
}

// The plan of a convolution, made at the first request. cudnn_mutex is held.
ConvPlan& plan_for(const dt_stream* stream, const Convolution& c) {
  const auto [place, is_new] = plans().try_emplace(key_of(stream, c));
  ConvPlan& plan = place->second;
  if (!is_new) return plan;
  // The library allocates memory and loads kernels: none of that ends up in a graph.
  const AllowUnsafeCalls allow;
  if (set_device(stream->device) != cudaSuccess || cudnn_handle(stream->device) == nullptr)
    return plan;
  const bool channels_last = given_channels_last(c);
  collect(stream, c, channels_last, &plan.engines);
  if (has_tensor_cores(stream, c)) collect(stream, c, !channels_last, &plan.engines);
  if (plan.engines.empty()) trace("cuda: conv2d by an own kernel: cuDNN has no engine");
  plan.chosen = plan.engines.size() <= 1;
  return plan;
}

// ---- running

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
  const int64_t ids[kOperands] = {kIdX, kIdW, kIdY};
  void* const data[kOperands] = {operands.x.seen.data, operands.w.seen.data, operands.y.seen.data};
  const dnn::Status status = run_plan(stream, engine.engine.plan, ids, data, kOperands, scratch);
  if (status != dnn::kSuccess) return cudnn_fault(stream, status);
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
  const std::lock_guard<std::mutex> lock(cudnn_mutex());
  return plan_for(stream, c).workspace();
}

int32_t cudnn_convolve(const dt_stream* stream, const Convolution& c, void* workspace) {
  if (const cudaError_t error = set_device(stream->device))
    return check(error, "cudaSetDevice", stream->fault);
  const std::lock_guard<std::mutex> lock(cudnn_mutex());
  ConvPlan& plan = plan_for(stream, c);
  if (!plan.chosen && !is_capturing(native_stream(stream))) choose(stream, c, workspace, &plan);
  if (plan.engines.empty()) return DT_KERNEL_UNSUPPORTED;
  return run_engine(stream, c, plan.engines[0], workspace);
}

}  // namespace dt::cuda
