// What rows of the schema call where the core has no function of just that shape.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "capi/shim/objects.h"
#include "core/autograd/function.h"
#include "core/ops/copy.h"
#include "core/runtime/build_info.h"
#include "core/runtime/context.h"
#include "core/runtime/thread_pool.h"
#include "core/ops/print.h"

namespace dt::capi {

// ---- lists
const Tensor& list_get(const std::vector<Tensor>& list, int64_t index);

// ---- settings
void set_default_dtype(DType dtype);
// A negative index as the caller gave it: the default follows cuda_set_device.
void set_default_device(Device device, int64_t index);
bool device_is_available(Device device);
void set_threads(int64_t n);
void set_log(const LogHook& log);

// ---- memory
std::tuple<int64_t, int64_t, int64_t> memory_stats(Device device);
void reset_peak_memory_stats(Device device);
void empty_cache(Device device);
void synchronize(Device device);

// ---- tensors
bool is_set_to(const Tensor& a, const Tensor& b);
std::string grad_fn_name(const Tensor& x);
Tensor base(const Tensor& x);  // undefined if x is no view

// ---- autograd. An absent retain_graph means create_graph; an empty list of gradients means ones.
void backward(const Tensor& output, const Tensor& gradient, std::optional<bool> retain_graph,
              bool create_graph, std::optional<TensorList> inputs);
void backward(TensorList outputs, TensorList gradients, std::optional<bool> retain_graph,
              bool create_graph, std::optional<TensorList> inputs);
std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList gradients,
                         std::optional<bool> retain_graph, bool create_graph, bool allow_unused);
Hook register_hook(const Tensor& x, TensorHook hook);
Hook register_node_hook(const Ref<Node>& node, CustomBackward hook, bool before);
Hook register_accumulate_hook(const Tensor& x, TensorHook hook);

}  // namespace dt::capi
