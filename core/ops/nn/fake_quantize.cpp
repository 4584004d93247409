// Rounding as quantized numbers would be: fake_quantize_per_tensor_affine and per_channel_affine.
#include "core/autograd/gradients.h"
#include "core/autograd/record.h"
#include "core/ops/autocast/autocast.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/transfer.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

constexpr DType kScaleDType = kDTypeOf<float>;

struct Bounds {
  int64_t least, largest;
};

void need(bool holds, const char* sentence) {
  DT_CHECK(holds, kRuntimeError, sentence);
}

void check_dtype(const Tensor& x, const char* sentence, std::initializer_list<DType> allowed) {
  for (const DType dtype : allowed)
    if (x.dtype() == dtype) return;
  fail(Code::kRuntimeError, sentence, type_word(x.dtype()));
}

void check_bounds(const Bounds& bounds, bool zero_point_fits) {
  need(bounds.least <= bounds.largest,
       "`quant_min` should be less than or         equal to `quant_max`.");
  need(zero_point_fits, "`zero_point` must be between `quant_min` and `quant_max`.");
}

// input / scale as PyTorch calculates it, in no less than float32.
Tensor scaled(const Tensor& input, const Tensor& scale) {
  const Tensor x = input.detach();
  const DType wide = x.dtype() == kDTypeOf<double> ? x.dtype() : kScaleDType;
  return mul(to_dtype(x, wide), to_dtype(reciprocal(scale), wide));
}

// round(input / scale + zero_point) with one rounding before it, as a fused multiply-add has:
// float64 holds products of float32 whole.
Tensor fused(const Tensor& input, const Tensor& scale, const Tensor& zero_point) {
  const DType wide = kDTypeOf<double>;
  const Tensor x = mul(to_dtype(input.detach(), wide), to_dtype(reciprocal(scale), wide));
  const Tensor sum = add(x, to_dtype(zero_point, wide));
  return round(input.dtype() == wide ? sum : to_dtype(sum, kScaleDType));
}

// (clamp(q) - zero_point) * scale; NaN is the least integer. The gradient passes by what is
// clamped.
Tensor restored(const Tensor& input, const Tensor& q, const Tensor& scale, const Tensor& zero_point,
                const Bounds& bounds) {
  const Tensor clamped = nan_to_num(clamp(q, bounds.least, bounds.largest), double(bounds.least));
  Tensor y = to_dtype(mul(sub(clamped, zero_point), scale), input.dtype());
  const Dims strides = dense_strides(input);  // those of channels have no say
  if (y.strides() != strides) y = clone_strided(y, strides);
  if (!needs_graph(input)) return y;
  return record("FakeQuantizeBackward0", y, {input},
                [mask = Saved::input(eq(clamped, q))](BackwardCall& b) {
                  b.results[0] = mul(b.grad(), mask.get(b.node));
                });
}

}  // namespace

Tensor fake_quantize_per_tensor_affine(const Tensor& given, const Operand& scale,
                                       const Operand& zero_point, int64_t quant_min,
                                       int64_t quant_max) {
  // PyTorch's policy is that of its overload for numbers.
  const Tensor input = scale.is_number() && zero_point.is_number() ? cast_on_cpu(given) : given;
  const Bounds bounds = {quant_min, quant_max};
  const auto as_number = [&](const Operand& x, DType dtype) {
    if (x.is_number()) return full({}, x.number(), dtype, input.device());
    return to_dtype(reshape(x.tensor(), {}), dtype);
  };
  check_floating(input, "fake_quantize_tensor_cachemask_kernel_type_handling");
  const char* const of_tensors = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams";
  if (!scale.is_number()) check_constant(scale.tensor(), of_tensors, "scale");
  if (!zero_point.is_number()) check_constant(zero_point.tensor(), of_tensors, "zero_point");
  // Two tensors are not looked at, as in PyTorch: a device would wait. Beside a number one is a
  // number.
  const Scalar looked_at = zero_point.is_number() ? zero_point.number()
                           : scale.is_number()    ? item(zero_point.tensor())
                                                  : Scalar(quant_min);
  const int64_t number = looked_at.to_int64();
  check_bounds(bounds, number >= quant_min && number <= quant_max);
  const Tensor step = as_number(scale, kScaleDType);
  const Tensor zero = to_dtype(as_number(zero_point, kIndexDType), kScaleDType);
  const Tensor q = to_dtype(round(scaled(input, step)), kScaleDType);
  return restored(input, add(q, zero), step, zero, bounds);
}

Tensor fake_quantize_per_channel_affine(const Tensor& input, const Tensor& scale,
                                        const Tensor& zero_point, int64_t axis, int64_t quant_min,
                                        int64_t quant_max) {
  const Bounds bounds = {quant_min, quant_max};
  const bool whole = !is_floating(zero_point.dtype());
  check_dtype(scale, "Scale must be Float or BFloat16, found ", {kScaleDType, kDTypeOf<BFloat16>});
  check_dtype(zero_point, "Zero-point must be Int32, Float or Half, found ",
              {kDTypeOf<int32_t>, kScaleDType, kDTypeOf<Float16>});
  need(scale.ndim() == 1, "scale should be a 1-D tensor");
  need(zero_point.ndim() == 1, "zero point should be a 1-D tensor");
  need(scale.numel() == zero_point.numel(),
       "scale and zero-point need to have the same dimensions");
  const int d = wrap_dim(axis, input.ndim());
  need(scale.numel() == input.size(d),
       "dimensions of scale and zero-point are not consistent with input tensor");
  const bool looks = whole && input.device() == kCpu;
  check_bounds(bounds, !looks || (item(min(zero_point)).to_int64() >= quant_min &&
                                  item(max(zero_point)).to_int64() <= quant_max));
  need(axis >= 0, "`axis` must be between 0 and number of dimensions of input");
  check_floating(input, "fake_quantize_channel_cachemask_cpu_type_handling");
  check_constant(scale, "fake_quantize_per_channel_affine_cachemask", "scale");
  check_constant(zero_point, "fake_quantize_per_channel_affine_cachemask", "zero_point");
  Dims line(input.ndim(), 1);
  line[d] = scale.numel();
  const Tensor step = reshape(to_dtype(scale, kScaleDType), line);
  const Tensor zero = reshape(to_dtype(zero_point, kScaleDType), line);
  // As PyTorch: the product is rounded before a zero_point of float16 is added, not before one of
  // float32.
  const Tensor q = whole                               ? add(round(scaled(input, step)), zero)
                   : zero_point.dtype() == kScaleDType ? fused(input, step, zero)
                                                       : round(add(scaled(input, step), zero));
  return restored(input, q, step, zero, bounds);
}

}  // namespace dt
