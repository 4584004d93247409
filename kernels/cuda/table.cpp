// The one symbol that the plugin exports, and the table behind it.
#include <stdio.h>

#include <mutex>

#include "kernels/calls/table.h"
#include "kernels/cuda/runtime.h"

namespace dt::cuda {

namespace {

const dt_signature kSignatures[] = {
#define DT_OP(name, hash) {#name, hash},
#include "kernels/ops.def"
#include "kernels/pointwise.def"
#undef DT_OP
};

dt_backend make_table() {
  dt_backend table = {};
  table.struct_size = sizeof(dt_backend);
  table.abi = DT_KERNEL_ABI;
  table.n_signatures = static_cast<int32_t>(sizeof(kSignatures) / sizeof(kSignatures[0]));
  table.signatures = kSignatures;
  table.name = "cuda";
  table.add_kernels = add_kernels;
  table.properties = properties;
  table.synchronize = synchronize;
  table.allocate = allocate;
  table.release = release;
  table.use_on = use_on;
  table.memory = memory;
  table.reset_peaks = reset_peaks;
  table.empty_cache = empty_cache;
  table.allocate_pinned = allocate_pinned;
  table.release_pinned = release_pinned;
  table.copy = copy;
  table.stream_create = stream_create;
  table.stream_destroy = stream_destroy;
  table.stream_synchronize = stream_synchronize;
  table.stream_query = stream_query;
  table.stream_wait = stream_wait;
  table.event_create = event_create;
  table.event_destroy = event_destroy;
  table.event_record = event_record;
  table.event_synchronize = event_synchronize;
  table.event_query = event_query;
  table.event_elapsed = event_elapsed;
  table.capture_begin = capture_begin;
  table.capture_end = capture_end;
  table.graph_launch = graph_launch;
  table.graph_destroy = graph_destroy;
  return table;
}

}  // namespace

}  // namespace dt::cuda

__attribute__((visibility("default"))) const dt_backend* dt_backend_open(int32_t* devices,
                                                                         dt_fault* fault) {
  using namespace dt::cuda;
  static const dt_backend table = make_table();
  static std::mutex mutex;
  *devices = 0;
  if (is_forked()) {
    check(cudaErrorInitializationError, "dt_backend_open", fault);
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex);
  return count_devices(devices, fault) == DT_KERNEL_OK ? &table : nullptr;
}
