#include "capi/shim/adapters.h"

#include "core/autograd/engine.h"
#include "core/autograd/view.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/stream.h"
#include "core/runtime/allocator.h"

namespace dt::capi {
namespace {

// Throws a sentence that says why if the device cannot be used.
void check_available(Device device) {
  if (device != kCpu) accelerator(device);
}

BackwardOptions graph_options(std::optional<bool> retain_graph, bool create_graph) {
  BackwardOptions options;
  options.retain_graph = retain_graph.value_or(create_graph);
  options.create_graph = create_graph;
  return options;
}

}  // namespace

const Tensor& list_get(const std::vector<Tensor>& list, int64_t index) {
  const auto n = static_cast<int64_t>(list.size());
  DT_CHECK(index >= 0 && index < n, kIndexError, "index ", index, " is out of range for a list of ",
           n);
  return list[static_cast<size_t>(index)];
}

void set_default_dtype(DType dtype) {
  DT_CHECK(is_floating(dtype), kTypeError,
           "only floating-point types are supported as the default type, got ", dtype);
  context().default_dtype = dtype;
}

void set_default_device(Device device, int64_t index) {
  check_available(device);
  if (index < 0)  // of CUDA alone: the CPU has no such number
    context().set_default_device_to_current();
  else
    context().set_default_device(device);
}

bool device_is_available(Device device) {
  if (device == kCpu) return true;
  const Accelerator* a = find_accelerator();
  return a && device.index < a->devices;
}

void set_threads(int64_t n) {
  DT_CHECK(n > 0, kRuntimeError, "set_num_threads expects a positive integer");
  DT_CHECK(n <= INT16_MAX, kRuntimeError, "set_num_threads expects at most ", INT16_MAX,
           " threads, got ", n);
  set_num_threads(static_cast<int>(n));
}

std::tuple<int64_t, int64_t, int64_t> memory_stats(Device device) {
  device = device_or_default(device);
  if (device == kCpu) {
    const MemoryStats stats = cpu_memory_stats();
    return {stats.allocated, stats.reserved, stats.peak_allocated};
  }
  const dt_memory memory = device_memory(device);
  return {memory.allocated, memory.reserved, memory.peak_allocated};
}

void empty_cache(Device device) {
  device = device_or_default(device);
  if (device == kCpu) return cpu_empty_cache();
  accelerator(device).backend->empty_cache(device.index);
}

void synchronize(Device device) {
  device = device_or_default(device);
  if (device != kCpu)
    synchronize_device(device);  // a call on the processor is done when it returns
}

bool is_set_to(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.dtype() == b.dtype() &&
         a.sizes() == b.sizes() && a.strides() == b.strides();
}

std::string grad_fn_name(const Tensor& x) {
  const Ref<Node> node = x.grad_fn();
  return node ? node->name : "";
}

Tensor base(const Tensor& x) {
  return x.impl()->autograd.view ? Tensor(Ref<TensorImpl>::share(view_base(x.impl()))) : Tensor();
}

void backward(const Tensor& output, const Tensor& gradient, std::optional<bool> retain_graph,
              bool create_graph, std::optional<TensorList> inputs) {
  backward(TensorList(&output, 1), TensorList(&gradient, 1), retain_graph, create_graph, inputs);
}

void backward(TensorList outputs, TensorList gradients, std::optional<bool> retain_graph,
              bool create_graph, std::optional<TensorList> inputs) {
  DT_CHECK(!inputs || !inputs->empty(), kRuntimeError,
           "`inputs` argument to `backward()` cannot be empty.");
  run_backward(outputs, gradients, inputs.value_or(TensorList()),
               graph_options(retain_graph, create_graph));
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList gradients,
                         std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
  return run_grad(outputs, inputs, gradients, graph_options(retain_graph, create_graph),
                  allow_unused);
}

Hook register_hook(const Tensor& x, TensorHook hook) {
  return {add_hook(x, std::move(hook))};
}

Hook register_node_hook(const Ref<Node>& node, CustomBackward hook, bool before) {
  return {add_node_hook(node, std::move(hook), before)};
}

Hook register_accumulate_hook(const Tensor& x, TensorHook hook) {
  return {add_accumulate_hook(x, std::move(hook))};
}

}  // namespace dt::capi
