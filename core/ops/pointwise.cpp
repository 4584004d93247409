#include "core/ops/pointwise.h"

#include "core/autograd/inplace.h"
#include "core/ops/pointwise/call.h"
#include "core/ops/pointwise/checks.h"
#include "core/ops/pointwise/node.h"
#include "core/ops/pointwise/rules.h"
#include "core/ops/promotion.h"
#include "core/runtime/pointwise_ops.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// PyTorch copies operands of another dtype to the common one first: the order of the copy counts.
Tensor order_of(const OperandRef& input, DType common) {
  if (input.is_number()) return Tensor();
  const Tensor& x = input.tensor();
  return x.dtype() == common ? x : make_alias(x, x.sizes(), dense_strides(x), x.offset());
}

Dims output_strides(const PointwiseRow& row, Span<const OperandRef> inputs, const Dims& sizes,
                    DType common) {
  bool row_major = true;
  for (const OperandRef& x : inputs) row_major &= x.is_number() || is_row_major(x.tensor());
  if (row_major) return contiguous_strides(sizes);
  if (row.keeps_strides) return dense_strides(inputs[0].tensor());
  // A number is an operand of another shape, unless it has none.
  int64_t n = inputs.size();
  while (row.shapeless_numbers && inputs[n - 1].is_number()) --n;
  Tensor tensors[kMaxPointwiseInputs];
  if (is_logic(row)) common = result_type(inputs);
  for (int64_t i = 0; i < n; ++i) {
    const bool condition = row.bool_inputs >> i & 1 && !is_logic(row);
    tensors[i] = condition ? inputs[i].tensor() : order_of(inputs[i], common);
  }
  return elementwise_strides(sizes, {tensors, n});
}

// `given` are the inputs before those of narrow dtypes were made alike.
Tensor computed(const PointwiseRow& row, Span<const OperandRef> inputs,
                PointwiseAttributes attributes, Span<const OperandRef> given) {
  const DType common = common_dtype(row, inputs, attributes);
  if (is_narrow(common) || row.bool_inputs) {
    Operand narrow[kMaxPointwiseInputs] = {0, 0, 0};
    const bool changed = is_narrow(common) ? narrow_operands(row, inputs, common, 0, narrow)
                                           : meet_in_logic(row, inputs, narrow);
    const OperandRef refs[] = {narrow[0], narrow[1], narrow[2]};
    if (changed) return computed(row, {refs, row.inputs}, attributes, given);
  }
  const Dims sizes = common_sizes(inputs);
  const DType dtype = row.bool_out ? kMaskDType : common;
  const Tensor y = make_empty_strided(sizes, output_strides(row, inputs, sizes, common), dtype,
                                      common_device(inputs));
  call_forward(row, inputs, y, common, attributes);
  if (must_record(row, inputs, dtype)) {
    auto* node = new PointwiseNode(row, inputs, common, attributes, given);
    const Ref<Node> owner = Ref<Node>::adopt(node);
    node->save_result(y);
    node->outputs.resize(1);
    node->outputs[0] = OutputInfo(y);
    set_history(y, owner, 0);
  }
  return y;
}

void write(const PointwiseRow& row, Span<const OperandRef> inputs, PointwiseAttributes attributes,
           Span<const OperandRef> given) {
  const Tensor& self = inputs[0].tensor();
  const DType common = common_dtype(row, inputs, attributes);
  if (is_narrow(common)) {
    Operand narrow[kMaxPointwiseInputs] = {0, 0, 0};
    const bool changed = narrow_operands(row, inputs, common, 1, narrow);
    const OperandRef refs[] = {narrow[0], narrow[1], narrow[2]};
    if (changed) return write(row, {refs, row.inputs}, attributes, given);
  }
  const DType dtype = row.bool_out ? kMaskDType : common;
  const Dims sizes = common_sizes(inputs);
  check_written(self, sizes, dtype);
  const bool recorded = must_record(row, inputs, self.dtype());
  check_inplace(self, recorded);
  check_operand_overlap(self, inputs);
  Ref<Node> owner;
  PointwiseNode* node = nullptr;
  if (recorded) {
    node = new PointwiseNode(row, inputs, common, attributes, given);
    owner = Ref<Node>::adopt(node);
    node->refuse_negative_slope();
    for (int i = 0; i < row.inputs; ++i) {
      const bool overwritten = !inputs[i].is_number() && inputs[i].tensor().is_same(self);
      if (overwritten && node->reads_input(i)) node->save_input(i, history_clone(self));
    }
  }
  call_forward(row, inputs, self, common, attributes);
  finish_inplace(self, owner);
  if (node) node->save_result(self);
}

}  // namespace

Tensor pointwise(const PointwiseRow& row, Span<const OperandRef> inputs,
                 PointwiseAttributes attributes) {
  check_tensor_among(inputs);
  return computed(row, inputs, attributes, inputs);
}

void pointwise_(const PointwiseRow& row, Span<const OperandRef> inputs,
                PointwiseAttributes attributes) {
  write(row, inputs, attributes, inputs);
}

}  // namespace dt
