#include "core/runtime/backend.h"

#include <cpuid.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/runtime/log.h"
#include "core/runtime/pool.h"

namespace dt {
namespace {

const char* const kOpNames[] = {
#define DT_OP(name, signature) #name,
#include "kernels/ops.def"
#undef DT_OP
};

int32_t device_number(Device d) {
  return d.type == DeviceType::kCuda ? 1 + d.index : 0;
}

void fill(dt_view* v, IntList sizes, IntList strides) {
  v->ndim = static_cast<int32_t>(sizes.size());
  for (int d = 0; d < v->ndim; ++d) {
    v->sizes[d] = sizes[d];
    v->strides[d] = strides[d];
  }
}

// The parts of x86-64-v3 that __builtin_cpu_supports cannot ask for with every compiler: F16C,
// MOVBE, LZCNT.
bool has_small_v3_features() {
  unsigned a, b, c, d, extended_c;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid(0x80000001, &a, &b, &extended_c, &d))
    return false;
  return (c >> 29 & 1) && (c >> 22 & 1) && (extended_c >> 5 & 1);
}

bool cpu_has(char level) {
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                  has_small_v3_features();
  if (level == '2') return v2;
  if (level == '3') return v3;
  return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
}

// DT_CPU_ISA=v2|v3|v4 overrides the choice, so that one machine can test all three.
dt_backend make_cpu_backend() {
  char level = cpu_has('4') ? '4' : cpu_has('3') ? '3' : '2';
  if (const char* wish = std::getenv("DT_CPU_ISA")) {
    const bool known = wish[0] == 'v' && wish[1] >= '2' && wish[1] <= '4' && !wish[2];
    DT_CHECK(known, kValueError, "DT_CPU_ISA must be v2, v3 or v4, got '", wish, "'");
    level = wish[1];
  }
  DT_CHECK(cpu_has(level), kRuntimeError, "this processor cannot run the x86-64-v", level,
           " kernels");
  dt_backend table = {};
  level == '4' ? dt_cpu_v4(&table) : level == '3' ? dt_cpu_v3(&table) : dt_cpu_v2(&table);
  return table;
}

const dt_backend& cpu_backend() {
  static const dt_backend table = make_cpu_backend();
  return table;
}

// All operands must be on one device.
const dt_backend& backend_of(int op, Span<const View> out, Span<const View> in) {
  int32_t device = -1;
  for (Span<const View> list : {out, in}) {
    for (const View& v : list) {
      if (v.device < 0) continue;
      DT_CHECK(device < 0 || device == v.device, kRuntimeError, op_name(op),
               ": expected all tensors to be on the same device, but found at least two devices");
      device = v.device;
    }
  }
  DT_CHECK(device <= 0, kRuntimeError, op_name(op), ": no kernels for device cuda:", device - 1);
  return cpu_backend();
}

// PyTorch's sentences about an index; the dimension is named where a call has only one.
[[noreturn]] void report_index(const dt_call& call, const dt_fault& fault) {
  switch (call.op) {
    case DT_OP_cross_entropy:
    case DT_OP_cross_entropy_backward:
      fail(Code::kIndexError, "Target ", fault.index, " is out of bounds.");
    case DT_OP_gather:
    case DT_OP_scatter:
    case DT_OP_index_select:
    case DT_OP_index_add:
      fail(Code::kIndexError, "index ", fault.index, " is out of bounds for dimension ",
           call.ints[0], " with size ", fault.size);
    default:
      fail(Code::kIndexError, "index ", fault.index, " is out of bounds for dimension with size ",
           fault.size);
  }
}

[[noreturn]] void report(const dt_call& call, int32_t result, const dt_fault& fault) {
  const int op = call.op;
  if (result == DT_KERNEL_INDEX) report_index(call, fault);
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
  if (dim == v.ndim) return std::isnan(*p);
  for (int64_t i = 0; i < v.sizes[dim]; ++i) {
    if (has_nan(v, dim + 1, p + i * v.strides[dim])) return true;
  }
  return false;
}

void check_nan(const dt_call& call) {
  for (int i = 0; i < call.n_out; ++i) {
    const dt_view& v = call.out[i];
    const bool nan = v.dtype == DT_FLOAT32   ? has_nan(v, 0, static_cast<const float*>(v.data))
                     : v.dtype == DT_FLOAT64 ? has_nan(v, 0, static_cast<const double*>(v.data))
                                             : false;
    DT_CHECK(!nan, kRuntimeError, op_name(call.op), ": output ", i, " has a NaN (DT_CHECK_NAN)");
  }
}

void trace(const dt_call& call, double microseconds) {
  std::string line = text("run ", op_name(call.op), " ", microseconds, " us");
  for (int i = 0; i < call.n_out + call.n_in; ++i) {
    const dt_view& v = i < call.n_out ? call.out[i] : call.in[i - call.n_out];
    if (i == 0) line += " out";
    if (i == call.n_out) line += " in";
    append(line, text(" ", static_cast<DType>(v.dtype), IntList(v.sizes, v.ndim)));
  }
  log(LogLevel::kTrace, line);
}

int32_t run_kernel(dt_kernel* kernel, const dt_stream& stream, const dt_call& call) {
  static const bool tracing = env_flag("DT_TRACE"), checking = env_flag("DT_CHECK_NAN");
  if (__builtin_expect(!tracing && !checking, 1)) return kernel(&stream, &call);
  const auto start = std::chrono::steady_clock::now();
  const int32_t result = kernel(&stream, &call);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  if (tracing) trace(call, time.count());
  if (checking && result == DT_KERNEL_OK) check_nan(call);
  return result;
}

}  // namespace

const char* op_name(int op) {
  return kOpNames[op];
}
const char* cpu_isa() {
  return cpu_backend().name;
}

View::View(const Tensor& t) {
  dtype = static_cast<int32_t>(t.dtype());
  immediate = 0;
  device = device_number(t.device());
  data = t.data();
  fill(this, t.sizes(), t.strides());
}

View::View(const Tensor& t, IntList sizes, IntList strides, int64_t offset) {
  dtype = static_cast<int32_t>(t.dtype());
  immediate = 0;
  device = device_number(t.device());
  data = static_cast<char*>(t.storage()->data()) + offset * t.item_bytes();
  fill(this, sizes, strides);
}

View::View(const Scalar& value, DType type, IntList sizes) {
  dtype = static_cast<int32_t>(type);
  immediate = 1;
  device = -1;
  data = nullptr;
  if (is_floating(type))
    number.f = value.to_double();
  else
    number.i = type == DType::BOOL ? value.to_bool() : value.to_int64();
  fill(this, sizes, Dims(static_cast<int>(sizes.size()), 0));
}

void run(int op, Span<const View> out, Span<const View> in, IntList ints, Floats floats) {
  const dt_backend& backend = backend_of(op, out, in);
  dt_kernel* kernel = backend.kernel[op];
  DT_CHECK(kernel, kNotImplemented, op_name(op), ": the ", backend.name,
           " backend has no such kernel");
  dt_fault fault;
  fault.message[0] = '\0';
  const dt_stream stream = {parallel, num_threads(), 0, &fault, nullptr};
  dt_call call;
  call.op = op;
  call.n_out = static_cast<int32_t>(out.size());
  call.n_in = static_cast<int32_t>(in.size());
  call.n_ints = static_cast<int32_t>(ints.size());
  call.n_floats = static_cast<int32_t>(floats.size());
  call.out = out.data();
  call.in = in.data();
  call.ints = ints.data();
  call.floats = floats.data();
  call.workspace = nullptr;
  Ref<Storage> workspace;
  if (backend.workspace[op]) {
    if (const int64_t bytes = backend.workspace[op](&stream, &call)) {
      workspace = Storage::allocate(bytes, kCpu);
      call.workspace = workspace->data();
    }
  }
  if (const int32_t result = run_kernel(kernel, stream, call)) report(call, result, fault);
}

}  // namespace dt
