#include "core/ops/pointwise/rules.h"

#include <cmath>

#include "core/ops/checks.h"
#include "core/ops/promotion.h"
#include "core/runtime/context.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

bool has_bool(Span<const OperandRef> inputs) {
  for (const OperandRef& x : inputs) {
    if (x.is_number() ? x.number().category() == Category::BOOL : is_bool(x.tensor().dtype()))
      return true;
  }
  return false;
}

bool has_number(Span<const OperandRef> inputs) {
  for (const OperandRef& x : inputs) {
    if (x.is_number()) return true;
  }
  return false;
}

// The attributes of ops that are for integers too are all called alpha.
void check_attributes(const PointwiseRow& row, DType common, PointwiseAttributes attributes) {
  if (row.op_class != OpClass::kNumber) return;
  for (const Scalar& alpha : attributes) {
    DT_CHECK(alpha.category() != Category::BOOL || is_bool(common), kRuntimeError,
             "Boolean alpha only supported for Boolean results.");
    DT_CHECK(is_floating(common) || !alpha.is_floating(), kRuntimeError,
             "For integral input tensors, argument alpha must not be a floating point number.");
  }
}

void check_condition(const Operand& x) {
  if (x.is_number()) return;
  const DType t = x.tensor().dtype();
  DT_CHECK(is_mask(t), kRuntimeError,
           "expected condition to be a boolean tensor, but got a tensor with dtype ", type_word(t));
}

// A condition that chooses among the other inputs is bool; truth values of logic may be anything.
// Numbers wrap around like the elements that they meet, but some ops want them whole.
void check_operands(const PointwiseRow& row, Span<const OperandRef> inputs, DType common) {
  const bool chooses = row.bool_inputs != (1 << row.inputs) - 1;
  for (int i = 0; i < row.inputs; ++i) {
    if (row.bool_inputs >> i & 1 && chooses)
      check_condition(inputs[i]);
    else if (row.numbers_fit && inputs[i].is_number())
      check_fits(inputs[i].number(), common);
  }
}

// Whether the kernel may read it as it is: nothing is rounded or wraps around on the way to
// `common`.
bool fits_into(const Operand& x, DType common) {
  if (x.is_number()) {
    const Scalar number = narrowed(x, common).number();
    if (!is_floating(common)) return number.to_int64() == x.number().to_int64();
    return number.to_double() == x.number().to_double() || std::isnan(x.number().to_double());
  }
  const DType t = x.tensor().dtype();
  const bool is_alike = info(t).category == info(common).category;
  return is_bool(t) || (is_alike && promote_types(t, common) == common);
}

}  // namespace

DType common_dtype(const PointwiseRow& row, Span<const OperandRef> inputs,
                   PointwiseAttributes attributes) {
  DType common;
  if (!row.bool_inputs) {
    common = result_type(inputs);
  } else {
    OperandRef rest[kMaxPointwiseInputs] = {0, 0, 0};
    int n = 0;
    for (int i = 0; i < row.inputs; ++i) {
      if (!(row.bool_inputs >> i & 1)) rest[n++] = inputs[i];
    }
    common = n ? result_type({rest, n}) : kMaskDType;
  }
  DT_CHECK(!row.scalar_kernel || !is_bool(common) || !has_number(inputs), kNotImplemented, "\"",
           row.scalar_kernel, "\" not implemented for 'Bool'");
  if (row.bool_error && is_bool(common)) fail(row.bool_error_code, row.bool_error);
  if (row.mixed_bool_error && !is_bool(common) && has_bool(inputs)) {
    fail(row.bool_error_code, row.mixed_bool_error);
  }
  if (row.counts_bools && is_bool(common)) common = kIntegerDType;
  const bool refused = row.op_class != OpClass::kNumber &&
                       is_floating(common) == (row.op_class == OpClass::kInteger);
  DT_CHECK(!row.refused_by || !refused, kNotImplemented, "\"", row.refused_by,
           "\" not implemented for '", type_word(common), "'");
  if (row.op_class == OpClass::kFloat && !is_floating(common)) common = context().default_dtype;
  check_operands(row, inputs, common);
  check_attributes(row, common, attributes);
  return common;
}

bool keeps_digits(const PointwiseRow& row, const Operand& x, int i, DType common) {
  if (!row.wide_numbers || !is_floating(common)) return false;
  if (x.is_number()) return true;
  const bool scales = i == 1 && !row.passes[0] && !row.passes[1];
  return scales && x.tensor().numel() == 1 && x.tensor().device() == kCpu;
}

bool narrow_operands(const PointwiseRow& row, Span<const OperandRef> inputs, DType common,
                     int first, Operand* out) {
  bool any = false;
  for (int i = 0; i < row.inputs; ++i) {
    const Operand& x = out[i] = inputs[i];
    if (i < first || row.bool_inputs >> i & 1 || keeps_digits(row, x, i, common)) continue;
    if (fits_into(x, common)) continue;
    out[i] = narrowed(x, common);
    any = true;
  }
  return any;
}

bool is_logic(const PointwiseRow& row) {
  return row.inputs > 1 && row.bool_inputs == (1 << row.inputs) - 1;
}

bool meet_in_logic(const PointwiseRow& row, Span<const OperandRef> inputs, Operand* out) {
  if (!is_logic(row)) return false;
  const DType common = result_type(inputs);
  bool any = false;
  for (int i = 0; i < row.inputs; ++i) {
    const Operand& x = out[i] = inputs[i];
    if (x.is_number() || x.tensor().ndim() > 0 || fits_into(x, common)) continue;
    out[i] = narrowed(x, common);
    any = true;
  }
  return any;
}

Dims common_sizes(Span<const OperandRef> inputs) {
  const Tensor* first = nullptr;
  Dims sizes;
  for (const OperandRef& x : inputs) {
    if (x.is_number()) continue;
    if (!first) {
      first = &x.tensor();
      sizes = first->sizes();
    } else if (x.tensor().sizes() != sizes) {
      sizes = broadcast_sizes(sizes, x.tensor().sizes());
    }
  }
  return sizes;
}

// 0-dim tensors of the CPU follow the others; kernels refuse whatever else lies elsewhere.
Device common_device(Span<const OperandRef> inputs) {
  const Tensor* first = nullptr;
  for (const OperandRef& x : inputs) {
    if (x.is_number()) continue;
    if (x.tensor().device() != kCpu) return x.tensor().device();
    if (!first) first = &x.tensor();
  }
  return first ? kCpu : device_or_default({});
}

void check_written(const Tensor& self, const Dims& sizes, DType dtype) {
  check_written_sizes(self.sizes(), sizes);
  DT_CHECK(can_cast(dtype, self.dtype()), kRuntimeError, "result type ", type_word(dtype),
           " can't be cast to the desired output type ", type_word(self.dtype()));
}

void check_operand_overlap(const Tensor& self, Span<const OperandRef> inputs) {
  for (int64_t i = 1; i < inputs.size(); ++i) {
    if (!inputs[i].is_number())
      check_overlap(overlap_of(inputs[i].tensor(), self) == Overlap::kSome);
  }
}

}  // namespace dt
