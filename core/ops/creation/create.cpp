#include <cmath>

#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/creation/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/promotion.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/creation.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

Tensor finish(Tensor y, bool requires_grad) {
  if (requires_grad) y.set_requires_grad(true);
  return y;
}

Tensor filled(const Dims& sizes, const Dims& strides, const Scalar& value, DType dtype,
              Device device) {
  const Tensor y = make_empty_strided(sizes, strides, dtype, device);
  check_fits(value, dtype);
  if (y.numel() == 0) return y;
  const int64_t n = y.numel();
  const IntList flat(&n, 1), one(&kUnitStride, 1);
  CopyCall call;
  call.y = View(y, flat, one, 0);
  call.x = View(value, dtype, flat);
  run(op::copy, call);
  return y;
}

DType dtype_of_number(const Scalar& v) {
  switch (v.category()) {
    case Category::BOOL:
      return kMaskDType;
    case Category::INTEGER:
      return kIntegerDType;
    default:
      return context().default_dtype;
  }
}

int64_t count_of_numbers(double steps) {
  const double count = std::ceil(steps);
  check_count(count);
  return static_cast<int64_t>(count);
}

// How many integers arange makes: exact where a double is not. The bounds and the step lose their
// fractions first.
int64_t count_of_integers(const Scalar& start, const Scalar& end, const Scalar& step) {
  check_integer_range(start, end, step);
  const int64_t k = step.to_int64(), span = end.to_int64() - start.to_int64();
  return span / k + (span % k != 0);
}

// The strides, dtype and device of a tensor made like another.
struct Like {
  Dims strides;
  DType dtype;
  Device device;
  Like(const Tensor& x, DType t, Device d, MemoryFormat format)
      : strides(format_strides(x, format)),
        dtype(t == DType::kDefault ? x.dtype() : t),
        device(d.type == DeviceType::kDefault ? x.device() : d) {}
};

}  // namespace

Tensor empty(IntList size, DType dtype, Device device, bool requires_grad,
             MemoryFormat memory_format) {
  check_empty_format(memory_format);
  dtype = dtype_or_default(dtype);
  device = device_or_default(device);
  if (memory_format != MemoryFormat::kChannelsLast)
    return finish(make_empty(size, dtype, device), requires_grad);
  check_channels_last_rank(size.size());
  return finish(make_empty_strided(size, channels_last_strides(size), dtype, device),
                requires_grad);
}

Tensor empty_strided(IntList size, IntList stride, DType dtype, Device device, bool requires_grad) {
  check_strided(size, stride);
  return finish(
      make_empty_strided(size, stride, dtype_or_default(dtype), device_or_default(device)),
      requires_grad);
}

Tensor full(IntList size, const Scalar& fill_value, DType dtype, Device device,
            bool requires_grad) {
  if (dtype == DType::kDefault) dtype = dtype_of_number(fill_value);
  count_elements(size);  // refuse negative sizes before strides are computed
  return finish(
      filled(size, contiguous_strides(size), fill_value, dtype, device_or_default(device)),
      requires_grad);
}

Tensor zeros(IntList size, DType dtype, Device device, bool requires_grad) {
  return full(size, 0, dtype_or_default(dtype), device, requires_grad);
}

Tensor ones(IntList size, DType dtype, Device device, bool requires_grad) {
  return full(size, 1, dtype_or_default(dtype), device, requires_grad);
}

Tensor scalar_tensor(const Scalar& s, DType dtype, Device device, bool requires_grad) {
  return full({}, s, dtype_or_default(dtype), device, requires_grad);
}

Tensor from_numbers(Span<const double> data, std::optional<IntList> size, DType dtype,
                    Device device, bool requires_grad) {
  const int64_t n = data.size();
  const Dims sizes(size.value_or(IntList(&n, 1)));
  check_shape_holds("from_numbers", "numbers", sizes, n);
  const GradMode off(false);
  const Tensor numbers = make_empty(sizes, kRealDType, kCpu);
  std::copy(data.begin(), data.end(), numbers.data_as<double>());
  return finish(to(numbers, device_or_default(device), dtype_or_default(dtype)), requires_grad);
}

Tensor from_bools(const std::vector<bool>& data, std::optional<IntList> size, Device device) {
  const auto n = static_cast<int64_t>(data.size());
  const Dims sizes(size.value_or(IntList(&n, 1)));
  check_shape_holds("from_bools", "truth values", sizes, n);
  const Tensor bools = make_empty(sizes, kMaskDType, kCpu);
  std::copy(data.begin(), data.end(), bools.data_as<bool>());
  return to(bools, device_or_default(device));
}

Tensor empty_like(const Tensor& input, DType dtype, Device device, bool requires_grad,
                  MemoryFormat memory_format) {
  const Like like(input, dtype, device, memory_format);
  return finish(make_empty_strided(input.sizes(), like.strides, like.dtype, like.device),
                requires_grad);
}

Tensor full_like(const Tensor& input, const Scalar& fill_value, DType dtype, Device device,
                 bool requires_grad, MemoryFormat memory_format) {
  const Like like(input, dtype, device, memory_format);
  return finish(filled(input.sizes(), like.strides, fill_value, like.dtype, like.device),
                requires_grad);
}

Tensor zeros_like(const Tensor& input, DType dtype, Device device, bool requires_grad,
                  MemoryFormat memory_format) {
  return full_like(input, 0, dtype, device, requires_grad, memory_format);
}

Tensor ones_like(const Tensor& input, DType dtype, Device device, bool requires_grad,
                 MemoryFormat memory_format) {
  return full_like(input, 1, dtype, device, requires_grad, memory_format);
}

Tensor new_empty(const Tensor& self, IntList size, DType dtype, Device device, bool requires_grad) {
  const Like like(self, dtype, device, MemoryFormat::kPreserve);
  return finish(make_empty(size, like.dtype, like.device), requires_grad);
}

Tensor new_empty_strided(const Tensor& self, IntList size, IntList stride, DType dtype,
                         Device device, bool requires_grad) {
  const Like like(self, dtype, device, MemoryFormat::kPreserve);
  return empty_strided(size, stride, like.dtype, like.device, requires_grad);
}

Tensor new_full(const Tensor& self, IntList size, const Scalar& fill_value, DType dtype,
                Device device, bool requires_grad) {
  const Like like(self, dtype, device, MemoryFormat::kPreserve);
  return full(size, fill_value, like.dtype, like.device, requires_grad);
}

Tensor new_zeros(const Tensor& self, IntList size, DType dtype, Device device, bool requires_grad) {
  return new_full(self, size, 0, dtype, device, requires_grad);
}

Tensor new_ones(const Tensor& self, IntList size, DType dtype, Device device, bool requires_grad) {
  return new_full(self, size, 1, dtype, device, requires_grad);
}

namespace {

// Ranges of integers go from what the dtype makes of their ends: -1 may be 255.
double end_of_range(const Scalar& x, DType dtype) {
  return is_floating(dtype) ? x.to_double() : narrowed(x, dtype).number().to_double();
}

}  // namespace

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
              Device device, bool requires_grad) {
  const bool floating = start.is_floating() || end.is_floating() || step.is_floating();
  if (dtype == DType::kDefault) dtype = floating ? context().default_dtype : kIntegerDType;
  const double a = start.to_double(), b = end.to_double(), s = step.to_double();
  check_arange(start, end, step, dtype);
  const int64_t n =
      dtype == kIntegerDType ? count_of_integers(start, end, step) : count_of_numbers((b - a) / s);
  const Tensor y = make_empty({n}, dtype, device_or_default(device));
  if (n > 0) {
    ArangeCall call;
    call.y = y;
    call.integer_start = start.to_int64();
    call.integer_step = step.to_int64();
    call.start = a;
    call.step = s;
    run(op::arange, call);
  }
  return finish(y, requires_grad);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, DType dtype, Device device,
                bool requires_grad) {
  check_linspace_steps(steps);
  dtype = dtype_or_default(dtype);
  if (steps == 1) return full({1}, start, dtype, device, requires_grad);
  const Tensor y = make_empty({steps}, dtype, device_or_default(device));
  if (steps > 1) {
    check_linspace(start, end, dtype);
    LinspaceCall call;
    call.y = y;
    call.start = end_of_range(start, dtype);
    call.end = end_of_range(end, dtype);
    run(op::linspace, call);
  }
  return finish(y, requires_grad);
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, DType dtype,
                Device device, bool requires_grad) {
  dtype = dtype_or_default(dtype);
  check_logspace(start, end, steps, base, dtype);
  // The start alone keeps its fraction, also of integers.
  const DType ends = steps == 1 ? kRealDType : dtype;
  const Tensor exponents =
      linspace(end_of_range(start, ends), end_of_range(end, ends), steps, kRealDType, device);
  return finish(to_dtype(pow(base, exponents), dtype), requires_grad);
}

Tensor eye(int64_t n, std::optional<int64_t> m, DType dtype, Device device, bool requires_grad) {
  const int64_t columns = m.value_or(n);
  check_eye(n, columns);
  const Tensor y = zeros({n, columns}, dtype, device);
  const int64_t length = std::min(n, columns);
  if (length > 0) {
    const IntList sizes(&length, 1);
    CopyCall call;
    call.y = View(y, sizes, {columns + 1}, 0);
    call.x = View(Scalar(1), y.dtype(), sizes);
    run(op::copy, call);
  }
  return finish(y, requires_grad);
}

}  // namespace dt
