#include "capi/shim/devices.h"

#include "core/base/error.h"
#include "core/ops/copy.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/allocator.h"

namespace dt::capi {
namespace {

dt_device_properties properties_of(Device device) {
  DT_CHECK(device != kCpu, kRuntimeError, "expected a CUDA device, got '", device, "'");
  dt_device_properties properties = {};
  dt_fault fault = {};
  check_device(accelerator(device).backend->properties(device.index, &properties, &fault), fault);
  return properties;
}

// The deleter of page-locked storages: also how they are told apart.
void release_pinned(void* block) {
  find_accelerator()->backend->release_pinned(block);
}

}  // namespace

Device device_from_text(const std::string& text) {
  DT_CHECK(!text.empty(), kRuntimeError, "Device string must not be empty");
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  DT_CHECK(name == "cpu" || name == "cuda", kRuntimeError,
           "Expected one of cpu, cuda device type at start of device string: ", name);
  const DeviceType type = name == "cpu" ? DeviceType::kCpu : DeviceType::kCuda;
  if (colon == std::string::npos) return {type, type == DeviceType::kCuda ? -1 : 0};
  const std::string number = text.substr(colon + 1);
  const bool is_number =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  DT_CHECK(is_number && number.size() < 5, kRuntimeError, "Invalid device string: '", text, "'");
  return {type, std::stoi(number)};
}

int64_t cuda_device_count() {
  const Accelerator* a = find_accelerator();
  return a ? a->devices : 0;
}

std::string cuda_reason() {
  std::string reason;
  return find_accelerator(&reason) ? "" : reason;
}

void set_cuda_device(int64_t index) {
  DT_CHECK(index >= 0 && index <= INT16_MAX, kRuntimeError, "invalid device ordinal ", index);
  const Device device{DeviceType::kCuda, static_cast<int32_t>(index)};
  accelerator(device);
  context().cuda_device = device.index;
}

std::string device_name(Device device) {
  return device == kCpu ? "CPU" : properties_of(device).name;
}

std::tuple<int64_t, int64_t> device_capability(Device device) {
  const dt_device_properties properties = properties_of(device);
  return {properties.major, properties.minor};
}

std::tuple<std::string, int64_t, int64_t, int64_t, int64_t> get_device_properties(Device device) {
  const dt_device_properties p = properties_of(device);
  return {p.name, p.major, p.minor, p.multiprocessors, p.total_memory};
}

std::tuple<int64_t, int64_t, int64_t, int64_t> device_memory_parts(Device device) {
  DT_CHECK(device != kCpu, kRuntimeError, "expected a CUDA device, got '", device, "'");
  const dt_memory m = device_memory(device);
  return {m.free, m.total, m.peak_allocated, m.peak_reserved};
}

void reset_peak_memory(Device device) {
  device = device_or_default(device);
  if (device == kCpu) return cpu_reset_peak();
  accelerator(device).backend->reset_peaks(device.index);
}

void set_tf32(bool matmul, bool convolution) {
  set_kernel_flag(DT_FLAG_TF32_MATMUL, matmul);
  set_kernel_flag(DT_FLAG_TF32_CONV, convolution);
}

std::tuple<bool, bool> get_tf32() {
  const int32_t flags = kernel_flags();
  return {(flags & DT_FLAG_TF32_MATMUL) != 0, (flags & DT_FLAG_TF32_CONV) != 0};
}

void set_deterministic(bool enabled) {
  set_kernel_flag(DT_FLAG_MAY_VARY, !enabled);
}

bool get_deterministic() {
  return (kernel_flags() & DT_FLAG_MAY_VARY) == 0;
}

Tensor pin_memory(const Tensor& x) {
  DT_CHECK(x.device() == kCpu, kRuntimeError, "cannot pin a tensor on '", x.device(),
           "': only dense CPU tensors can be pinned");
  const int64_t bytes = count_bytes(x.sizes(), x.numel(), x.dtype());
  void* block = nullptr;
  dt_fault fault = {};
  const dt_backend& backend = *accelerator({DeviceType::kCuda, context().cuda_device}).backend;
  check_device(backend.allocate_pinned(bytes, &block, &fault), fault);
  const auto storage = Storage::wrap(block, bytes, kCpu, release_pinned, block);
  const Tensor y(Ref<TensorImpl>::adopt(
      new TensorImpl(storage, 0, x.sizes(), contiguous_strides(x.sizes()), x.dtype())));
  copy_elements(y, x);
  return y;
}

bool is_pinned(const Tensor& x) {
  return x.storage()->deleter() == release_pinned;
}

Device cuda_or_current(Device device) {
  if (device.type == DeviceType::kDefault) return {DeviceType::kCuda, context().cuda_device};
  DT_CHECK(device != kCpu, kRuntimeError, "Invalid device, must be cuda device");
  return device;
}

Ref<Stream> current_stream_of(Device device) {
  device = device_or_default(device);
  Stream* stream = device == kCpu ? nullptr : current_stream(device);
  return stream ? Ref<Stream>::share(stream) : Stream::wrap(device, nullptr);
}

void record_stream(const Tensor& x, const Ref<Stream>& stream) {
  if (x.device() == kCpu || x.storage()->bytes() == 0) return;
  DT_CHECK(stream->device() == x.device(), kRuntimeError, "the stream belongs to '",
           stream->device(), "', the tensor to '", x.device(), "'");
  accelerator(x.device()).backend->use_on(x.device().index, x.storage()->data(), stream->native());
}

Ref<Graph> new_graph(Device device) {
  return Ref<Graph>::adopt(new Graph(device));
}

}  // namespace dt::capi
