// Elementwise ops. Each is a row of the schema; the generator writes a PointwiseRow and two
// one-line functions for it (pointwise.gen.cpp). Everything else is done for all of them, a file a
// job: promotion (promotion.h), what a row takes (pointwise/rules.h), the kernel call
// (pointwise/call.h), the gradient (pointwise/node.h); here they are put together.
#pragma once

#include "core/runtime/kernel_table.h"
#include "core/base/enums.h"
#include "core/tensor/tensor.h"

namespace dt {

constexpr int kMaxPointwiseInputs = 3;
constexpr int kMaxPointwiseAttributes = 4;

// The op's attributes (alpha, min, ...) in the row's order.
using PointwiseAttributes = Span<const Scalar>;

// What a gradient formula sees when a graph of the backward is being built.
struct PointwiseGradient {
  Tensor grad;
  Tensor
      input[kMaxPointwiseInputs];  // only those that the row saves; a plain number is a 0-d tensor
  Tensor result;                   // only if the row saves it
  double attribute[kMaxPointwiseAttributes];
  Tensor out[kMaxPointwiseInputs];  // to be filled where wants[i]
  bool wants[kMaxPointwiseInputs];
};

enum class OpClass : uint8_t {
  kFloat,   // computes in floating point: integer inputs become the default dtype
  kNumber,  // any numbers
  kInteger  // integers and bool only
};

constexpr uint8_t kReadsResult = 1 << kMaxPointwiseInputs;

struct PointwiseRow {
  const char* name;       // "mul"
  const char* node_name;  // "MulBackward0"
  int op;                 // DT_OP_mul
  int backward_op;        // DT_OP_mul_backward, or -1: not differentiable
  OpClass op_class;
  int inputs;           // tensors and operands
  uint8_t bool_inputs;  // bit i: input i is a condition: loaded as bool, outside promotion
  bool bool_out;
  uint8_t differentiable;  // bit i: input i has a gradient formula
  uint8_t saves_input;     // bit i: some formula mentions input i
  bool saves_result;
  // How gradient i is found without a kernel: 0 = needs the kernel, 1 = it is `grad` itself,
  // 2 + k = grad times number k (so grad itself when that is 1).
  uint8_t passes[kMaxPointwiseInputs];
  // What the formula of gradient i mentions: bit k for input k, and kReadsResult.
  uint8_t reads[kMaxPointwiseInputs];
  void (*gradient)(PointwiseGradient&);  // the formulas over Tensors
  bool flat;               // they are constant in the inputs where they are differentiable
  bool numbers_fit;        // a number that the common dtype cannot hold is refused, not wrapped
  bool counts_bools;       // bools alone meet in int64
  bool wide_numbers;       // beside narrow floats, a number keeps all its digits
  bool shapeless_numbers;  // numbers in the last places have no part in the result's strides
  bool keeps_strides;      // the result has those of a copy of the first input
  // PyTorch's name of the kernel that refuses integers (kFloat) or floats (kInteger); null: its
  // kFloat ops take integers.
  const char* refused_by;
  // PyTorch's name of the kernel for numbers, which refuses bools; or null.
  const char* scalar_kernel;
  // PyTorch's word for an op that in place has no gradient where the slope below 0, which is the
  // first attribute, is negative; or null.
  const char* slope_word;
  // PyTorch's sentences when all inputs are bool, and when some are; null: they may be.
  const char* bool_error = nullptr;
  const char* mixed_bool_error = nullptr;
  Code bool_error_code = Code::kRuntimeError;
};

// The row of a function that other ops may end with. The activation must not be kDefault.
const PointwiseRow& activation_row(Activation activation);
// "LinearReluBackward0": the node of a product that ends with it; kDefault: "LinearBackward0".
const char* linear_node_name(Activation activation);

Tensor pointwise(const PointwiseRow& row, Span<const OperandRef> inputs,
                 PointwiseAttributes attributes = {});
// The result is written into inputs[0].
void pointwise_(const PointwiseRow& row, Span<const OperandRef> inputs,
                PointwiseAttributes attributes = {});

}  // namespace dt
