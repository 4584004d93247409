#include "core/runtime/backend.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/runtime/accelerator.h"
#include "core/runtime/activity.h"
#include "core/runtime/stream.h"
#include "core/runtime/context.h"
#include "core/runtime/graph.h"
#include "core/runtime/log.h"
#include "core/runtime/thread_pool.h"
#include "core/runtime/widen.h"
#include "kernels/calls/call.h"

namespace dt {
namespace {

using Clock = std::chrono::steady_clock;

Device device_numbered(int32_t number) {
  return number == 0 ? kCpu : Device{DeviceType::kCuda, number - 1};
}

// What is to be known of all operands of a call.
struct OperandTraits {
  // Which all must share: 0 is the CPU, 1 + i a CUDA device; -1 where none has one.
  int32_t device = -1;
  bool has_narrow_floats = false;

  void look_at(Span<const View> operands) {
    for (const View& v : operands) {
      has_narrow_floats |= is_narrow_float(v.dtype);
      if (v.device < 0 || v.device == device) continue;
      if (device >= 0) check_same_device(device_numbered(device), device_numbered(v.device));
      device = v.device;
    }
  }
};

[[noreturn]] void report(int op, const dt_call& call, int32_t result, const dt_fault& fault) {
  if (result == DT_KERNEL_INDEX) fail(index_code(op), index_error(op, call, fault));
  if (result == DT_KERNEL_OUT_OF_MEMORY) fail(Code::kOutOfMemory, call.op, ": ", fault.message);
  if (result == DT_KERNEL_UNSUPPORTED) {
    fail(Code::kNotImplemented, "\"", op_name(op),
         "\" not implemented for these dtypes on this device");
  }
  fail(Code::kRuntimeError, op_name(op), ": ", fault.message);
}

bool env_flag(const char* name) {
  const char* value = std::getenv(name);
  return value && *value && std::strcmp(value, "0") != 0;
}

template <class T>
bool has_nan(const dt_view& v, int dim, const T* p) {
  if (dim == v.ndim) return *p != *p;
  for (int64_t i = 0; i < v.sizes[dim]; ++i) {
    if (has_nan(v, dim + 1, p + i * v.strides[dim])) return true;
  }
  return false;
}

template <class T>
bool has_nan(const dt_view& v) {
  if (v.device == 0) return has_nan(v, 0, static_cast<const T*>(v.data));
  // Outputs have no negative strides: the elements lie in one run of memory from `data` on.
  int64_t last = 0;
  for (int d = 0; d < v.ndim; ++d) {
    if (v.sizes[d] == 0) return false;
    last += (v.sizes[d] - 1) * v.strides[d];
  }
  const Device device = device_numbered(v.device);
  std::vector<T> host(static_cast<size_t>(last) + 1);
  dt_fault fault = {};
  check_device(accelerator(device).backend->copy(host.data(), -1, v.data, device.index,
                                                 (last + 1) * int64_t{sizeof(T)},
                                                 current_native_stream(device), 1, &fault),
               fault);
  return has_nan(v, 0, host.data());
}

void check_nan(const dt_call& call) {
  int i = 0;
  for (const dt_view& v : calls::outputs(call)) {
    bool nan = false;
    visit_any(v.dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      if constexpr (kIsFloating<T>) nan = has_nan<T>(v);
    });
    DT_CHECK(!nan, kRuntimeError, call.op, ": output ", i, " has a NaN (DT_CHECK_NAN)");
    ++i;
  }
}

void append_views(std::string& line, const char* side, const calls::Views& views) {
  if (!views.empty()) line += side;
  for (const dt_view& v : views)
    append(line, text(" ", static_cast<DType>(v.dtype), IntList(v.sizes, v.ndim)));
}

// The kernel has run, so that nothing may fail: a line that there is no memory for is left out.
void trace(const dt_call& call, double microseconds) noexcept {
  try {
    std::string line = text("run ", call.op, " ", microseconds, " us");
    append_views(line, " out", calls::outputs(call));
    append_views(line, " in", calls::inputs(call));
    log(LogLevel::kTrace, line);
  } catch (const std::exception&) {
  }
}

// Where tracing, profiling and checking look: a kernel begins, and has run.
int32_t run_kernel(dt_kernel* kernel, const dt_stream& stream, const dt_call& call, Device device,
                   ActivityScope& activity) {
  static const bool checking = env_flag("DT_CHECK_NAN"), watching = checking || is_tracing();
  if (__builtin_expect(!watching && !activity.is_watched(), 1)) return kernel(&stream, &call);
  activity.starts(device);
  const bool tracing = is_tracing();
  const auto start = tracing ? Clock::now() : Clock::time_point();
  const int32_t result = kernel(&stream, &call);
  const std::chrono::duration<double, std::micro> time = (tracing ? Clock::now() : start) - start;
  if (result == DT_KERNEL_OK) activity.ends(call.op, {call.in, call.n_in}, device);
  if (tracing && result != DT_KERNEL_UNSUPPORTED) trace(call, time.count());
  if (checking && result == DT_KERNEL_OK) check_nan(call);
  return result;
}

dt_call describe(int op, const CallSpans& spans) {
  dt_call call;
  call.op = op_name(op);
  call.n_out = static_cast<int32_t>(spans.outputs.size());
  call.n_in = static_cast<int32_t>(spans.inputs.size());
  call.n_ints = static_cast<int32_t>(spans.ints.size());
  call.n_floats = static_cast<int32_t>(spans.floats.size());
  call.out = spans.outputs.data();
  call.in = spans.inputs.data();
  call.ints = spans.ints.data();
  call.floats = spans.floats.data();
  call.workspace = nullptr;
  return call;
}

// A shortcut that is declined leaves its ops to kernels that take narrow floats.
bool run_widened(int op, const CallSpans& spans, Device device, bool is_shortcut) {
  if (is_shortcut) return false;
  const WidenedOperands wide(spans, device, updates_outputs(op));
  run_spans(op, wide.spans(), false);
  wide.round_outputs();
  return true;
}

}  // namespace

bool is_tracing() {
  static const bool tracing = env_flag("DT_TRACE");
  return tracing;
}

void check_same_device(Device first, Device second) {
  if (first == kCpu) std::swap(first, second);
  DT_CHECK(first == second, kRuntimeError,
           "Expected all tensors to be on the same device, but found at least two devices, ", first,
           " and ", second, "!");
}

bool run_spans(int op, const CallSpans& spans, bool is_shortcut) {
  OperandTraits traits;
  traits.look_at(spans.outputs);
  traits.look_at(spans.inputs);
  const int32_t number = std::max(traits.device, 0);
  const Device device = device_numbered(number);
  const bool has_narrow = traits.has_narrow_floats;
  if (has_narrow && !takes_narrow_floats(op, device))
    return run_widened(op, spans, device, is_shortcut);
  const KernelTable& table = number == 0 ? cpu_kernels() : accelerator(device).kernels;
  dt_kernel* kernel = table.kernel[op];
  if (!kernel && is_shortcut) return false;
  DT_CHECK(kernel, kNotImplemented, op_name(op), ": the ", table.name,
           " backend has no such kernel");
  dt_fault fault;
  fault.op = nullptr;
  fault.message[0] = '\0';
  dt_stream stream = {parallel, num_threads(), kernel_flags(), &fault, nullptr, device.index};
  if (number != 0) {
    check_captured(device);
    stream.native = current_native_stream(device);
  }
  dt_call call = describe(op, spans);
  ActivityScope activity(ActivityKind::kOp, call.op);  // ends when the workspace is given back
  Ref<Storage> workspace;
  if (table.workspace[op]) {
    if (const int64_t bytes = table.workspace[op](&stream, &call)) {
      workspace = Storage::allocate(bytes, device);
      call.workspace = workspace->data();
    }
  }
  const int32_t result = run_kernel(kernel, stream, call, device, activity);
  if (result == DT_KERNEL_UNSUPPORTED && is_shortcut) return false;
  if (result == DT_KERNEL_UNSUPPORTED && has_narrow) return run_widened(op, spans, device, false);
  if (result != DT_KERNEL_OK) report(op, call, result, fault);
  return true;
}

}  // namespace dt
