#include "kernels/cuda/cudnn_graph.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "kernels/cuda/library.h"
#include "kernels/cuda/library_types.h"

namespace dt::cuda {

Cudnn::Cudnn() {
  Library library{"libcudnn.so.9"};
#define DT_FIND(NAME) library.find("cudnn" #NAME, &call.NAME)
  DT_FIND(GetVersion);
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
  if (!usable)
    trace("cuda: convolution and attention by own kernels, without cuDNN: " + library.reason());
}

const Cudnn& cudnn() {
  static const Cudnn& library = *new Cudnn;
  return library;
}

std::mutex& cudnn_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

dnn::Handle cudnn_handle(int32_t device) {
  static auto& handles = *new std::unordered_map<int32_t, dnn::Handle>;
  dnn::Handle& handle = handles[device];
  if (handle == nullptr && cudnn().call.Create(&handle) != dnn::kSuccess) handle = nullptr;
  return handle;
}

namespace {

bool is_allowed(const Descriptor& config, const EngineDemands& demands) {
  Descriptor engine(dnn::kEngine);
  dnn::Descriptor handle = engine.handle();
  config.get(dnn::kConfigEngine, dnn::kTypeDescriptor, 1, &handle);
  int notes[dnn::kNotes];
  const int64_t count = engine.get(dnn::kEngineNotes, dnn::kTypeNumericalNote, dnn::kNotes, notes);
  for (int64_t i = 0; i < std::min<int64_t>(count, dnn::kNotes); ++i) {
    if (notes[i] == dnn::kNoteDownConvertInputs || notes[i] == dnn::kNoteNarrowSums) return false;
    if (notes[i] == dnn::kNoteNondeterministic && !demands.may_vary) return false;
    if (notes[i] == dnn::kNoteTensorCore && library_type(demands.dtype).has_tf32 &&
        !demands.may_round)
      return false;
  }
  return true;
}

std::vector<Descriptor> proposals(const Descriptor& graph, dnn::Heuristic mode) {
  Descriptor heuristic(dnn::kEngineHeuristic);
  heuristic.set(dnn::kHeuristicGraph, graph)
      .set_enum(dnn::kHeuristicMode, dnn::kTypeHeuristicMode, mode)
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

}  // namespace

std::vector<Engine> engines_for(const Descriptor& graph, dnn::Handle handle,
                                const EngineDemands& demands) {
  std::vector<Engine> engines;
  // The fallback engines are few and slow, but they take what the better ones refuse.
  for (const dnn::Heuristic mode : {dnn::kHeuristicA, dnn::kHeuristicB, dnn::kHeuristicFallback}) {
    if (engines.size() >= demands.enough) break;
    for (Descriptor& config : proposals(graph, mode)) {
      if (engines.size() == demands.count) break;
      if (!is_allowed(config, demands)) continue;
      Descriptor plan(dnn::kExecutionPlan);
      plan.set(dnn::kPlanHandle, dnn::kTypeHandle, &handle).set(dnn::kPlanConfig, config);
      plan.finalize();
      int64_t bytes = 0;
      if (plan.get(dnn::kPlanWorkspace, dnn::kTypeInt64, 1, &bytes) != 1 || bytes > demands.bytes)
        continue;
      engines.push_back({std::move(config), std::move(plan), bytes});
    }
  }
  return engines;
}

dnn::Status run_plan(const dt_stream* stream, const Descriptor& plan, const int64_t* ids,
                     void* const* data, int64_t count, void* workspace) {
  const dnn::Handle handle = cudnn_handle(stream->device);
  const dnn::Status status = cudnn().call.SetStream(handle, native_stream(stream));
  if (status != dnn::kSuccess) return status;
  Descriptor pack(dnn::kVariantPack);
  pack.set(dnn::kPackIds, dnn::kTypeInt64, ids, count)
      .set(dnn::kPackData, dnn::kTypePointer, data, count)
      .set(dnn::kPackWorkspace, dnn::kTypePointer, &workspace)
      .finalize();
  if (!pack.fine()) return pack.status();
  return cudnn().call.BackendExecute(handle, plan.handle(), pack.handle());
}

int32_t cudnn_fault(const dt_stream* stream, dnn::Status status) {
  std::snprintf(stream->fault->message, sizeof stream->fault->message, "cudnnBackendExecute: %s",
                cudnn().call.GetErrorString(status));
  return DT_KERNEL_DEVICE;
}

}  // namespace dt::cuda
