// What the schema's device functions call beyond the core's own classes.
#pragma once

#include <string>
#include <tuple>

#include "core/runtime/stream.h"
#include "core/runtime/context.h"
#include "core/runtime/graph.h"

namespace dt::capi {

// "cpu", "cuda:1"; "cuda" has the index -1, the current one.
Device device_from_text(const std::string& text);
int64_t cuda_device_count();
std::string cuda_reason();
void set_cuda_device(int64_t index);
std::string device_name(Device device);
std::tuple<int64_t, int64_t> device_capability(Device device);
std::tuple<std::string, int64_t, int64_t, int64_t, int64_t> get_device_properties(Device device);
std::tuple<int64_t, int64_t, int64_t, int64_t> device_memory_parts(Device device);
void reset_peak_memory(Device device);
void set_tf32(bool matmul, bool convolution);
std::tuple<bool, bool> get_tf32();
void set_deterministic(bool enabled);
bool get_deterministic();
Tensor pin_memory(const Tensor& x);
bool is_pinned(const Tensor& x);
// The device, which must be CUDA's; the current CUDA device for an absent one.
Device cuda_or_current(Device device);
Ref<Stream> current_stream_of(Device device);
void record_stream(const Tensor& x, const Ref<Stream>& stream);
Ref<Graph> new_graph(Device device);

}  // namespace dt::capi
