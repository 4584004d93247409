#include "core/ops/pointwise.h"

#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/runtime/backend.h"
#include "core/tensor/layout.h"

namespace dt {
namespace {

// Of a gradient kernel: the gradient, the inputs, the result. It has an output for each input.
constexpr int kMaxOperands = kMaxPointwiseInputs + 2;
static_assert(kMaxOperands + kMaxPointwiseInputs <= Layout::kMaxOperands);

// The op's numbers as the kernel ABI wants them: the compute dtype, then each number as int64 and
// as double.
struct Attributes {
  int64_t ints[1 + kMaxPointwiseNumbers];
  double floats[kMaxPointwiseNumbers];
  int n;

  Attributes(DType compute, PointwiseNumbers numbers) : n(static_cast<int>(numbers.size())) {
    ints[0] = static_cast<int64_t>(info(compute).compute);
    for (int i = 0; i < n; ++i) {
      ints[1 + i] = numbers[i].to_int64();
      floats[i] = numbers[i].to_double();
    }
  }
};

struct Operands {
  const PointwiseRow& row;
  Span<const Operand> inputs;

  bool is_condition(int i) const { return row.bool_inputs >> i & 1; }
  DType number_dtype(int i, DType common) const { return is_condition(i) ? DType::BOOL : common; }
};

bool has_bool(Span<const Operand> inputs) {
  for (const Operand& x : inputs) {
    if (x.is_number() ? x.number().category() == Category::BOOL : x.tensor().dtype() == DType::BOOL)
      return true;
  }
  return false;
}

// The numbers of ops that are for integers too are all called alpha.
void check_numbers(const PointwiseRow& row, DType common, PointwiseNumbers numbers) {
  if (row.op_class != OpClass::kNumber) return;
  for (const Scalar& alpha : numbers) {
    DT_CHECK(alpha.category() != Category::BOOL || common == DType::BOOL, kRuntimeError,
             "Boolean alpha only supported for Boolean results.");
    DT_CHECK(is_floating(common) || !alpha.is_floating(), kRuntimeError,
             "For integral input tensors, argument alpha must not be a floating point number.");
  }
}

void check_condition(const Operand& x) {
  if (x.is_number()) return;
  const DType t = x.tensor().dtype();
  DT_CHECK(t == DType::BOOL || t == DType::UINT8, kRuntimeError,
           "expected condition to be a boolean tensor, but got a tensor with dtype ", type_word(t));
}

// A condition that chooses among the other inputs is bool; truth values of logic may be anything.
// Numbers wrap around like the elements that they meet, but some ops want them whole.
void check_operands(const PointwiseRow& row, Span<const Operand> inputs, DType common) {
  const bool chooses = row.bool_inputs != (1 << row.inputs) - 1;
  for (int i = 0; i < row.inputs; ++i) {
    if (row.bool_inputs >> i & 1 && chooses)
      check_condition(inputs[i]);
    else if (row.numbers_fit && inputs[i].is_number())
      check_fits(inputs[i].number(), common);
  }
}

// The dtype that the operands meet in.
DType common_dtype(const PointwiseRow& row, Span<const Operand> inputs) {
  DType common;
  if (!row.bool_inputs) {
    common = result_type(inputs);
  } else {
    Operand rest[kMaxPointwiseInputs] = {0, 0, 0};
    int n = 0;
    for (int i = 0; i < row.inputs; ++i) {
      if (!(row.bool_inputs >> i & 1)) rest[n++] = inputs[i];
    }
    common = n ? result_type({rest, n}) : DType::BOOL;
  }
  if (row.bool_error && common == DType::BOOL) fail(row.bool_error_code, row.bool_error);
  if (row.mixed_bool_error && common != DType::BOOL && has_bool(inputs)) {
    fail(row.bool_error_code, row.mixed_bool_error);
  }
  if (row.counts_bools && common == DType::BOOL) common = DType::INT64;
  const bool refused = row.op_class != OpClass::kNumber &&
                       is_floating(common) == (row.op_class == OpClass::kInteger);
  DT_CHECK(!row.refused_by || !refused, kNotImplemented, "\"", row.refused_by,
           "\" not implemented for '", type_word(common), "'");
  if (row.op_class == OpClass::kFloat && !is_floating(common)) common = context().default_dtype;
  check_operands(row, inputs, common);
  return common;
}

// Kernels calculate uint8 in int32, where a number or a 0-d tensor that is wider would stay whole:
// -1 must be 255 before it is compared or divided by. Whether there was such an operand.
bool narrow_operands(const PointwiseRow& row, Span<const Operand> inputs, int first, Operand* out) {
  bool any = false;
  for (int i = 0; i < row.inputs; ++i) {
    const Operand& x = out[i] = inputs[i];
    const bool wide = x.is_number() ? x.number().to_int64() != uint8_t(x.number().to_int64())
                                    : info(x.tensor().dtype()).bytes > 1;
    if (i < first || !wide || row.bool_inputs >> i & 1) continue;
    out[i] = narrowed(x, DType::UINT8);
    any = true;
  }
  return any;
}

Dims common_sizes(Span<const Operand> inputs) {
  const Tensor* first = nullptr;
  Dims sizes;
  for (const Operand& x : inputs) {
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
Device common_device(Span<const Operand> inputs) {
  const Tensor* first = nullptr;
  for (const Operand& x : inputs) {
    if (x.is_number()) continue;
    if (x.tensor().device() != kCpu) return x.tensor().device();
    if (!first) first = &x.tensor();
  }
  return first ? kCpu : device_or_default({});
}

// Ops on a GPU take 0-dim tensors of the CPU as numbers, as PyTorch's do.
bool is_host_number(const Tensor& x, const Tensor& out) {
  return x.ndim() == 0 && x.device() == kCpu && out.device() != kCpu;
}

void launch(const Operands& ops, const Tensor& out, DType common, PointwiseNumbers numbers) {
  const Attributes attributes(common, numbers);
  Layout layout(out.sizes());
  layout.add(out);
  for (int i = 0; i < ops.row.inputs; ++i) {
    const Operand& x = ops.inputs[i];
    if (x.is_number())
      layout.add(x.number(), ops.number_dtype(i, common));
    else if (is_host_number(x.tensor(), out))
      layout.add(item(x.tensor()), ops.number_dtype(i, common));
    else
      layout.add(x.tensor());
  }
  layout.finish();
  run(ops.row.op, layout.views(0, 1), layout.views(1, ops.row.inputs),
      {attributes.ints, 1 + attributes.n}, {attributes.floats, attributes.n});
}

Dims output_strides(Span<const Operand> inputs, const Dims& sizes) {
  bool all_contiguous = true;
  for (const Operand& x : inputs) {
    all_contiguous &= x.is_number() || x.tensor().ndim() == 0 || x.tensor().impl()->contiguous;
  }
  if (all_contiguous) return contiguous_strides(sizes);
  Tensor tensors[kMaxPointwiseInputs];
  for (int64_t i = 0; i < inputs.size(); ++i) tensors[i] = inputs[i].tensor();
  return elementwise_strides(sizes, {tensors, inputs.size()});
}

Tensor number_tensor(const Scalar& number, DType dtype) {
  return full({}, number, dtype, kCpu);
}

class PointwiseNode final : public Node {
 public:
  PointwiseNode(const PointwiseRow& row, Span<const Operand> inputs, PointwiseNumbers numbers)
      : Node(row.node_name), row_(row), reads_(reads_for(row, inputs)) {
    for (int i = 0; i < row.inputs; ++i) {
      if (!reads_input(i)) continue;
      if (inputs[i].is_number())
        number_input_[i] = inputs[i].number();
      else
        input_[i] = Saved::input(inputs[i].tensor());
    }
    for (int64_t i = 0; i < numbers.size(); ++i) numbers_[i] = numbers[i];
    number_count_ = static_cast<int>(numbers.size());
  }
  void save_result(const Tensor& y) {
    if (reads_ & kReadsResult) result_ = Saved::output(y);
  }
  bool reads_input(int i) const { return reads_ >> i & 1; }
  // An in-place op saved a clone of the input that it overwrites.
  void save_input(int i, const Tensor& x) { input_[i] = Saved::input(x); }

  void backward(BackwardCall& call) override {
    if (released_) fail_released();
    bool rest = false;
    for (int i = 0; i < row_.inputs; ++i) {
      if (!call.wants(i)) continue;
      if (passes_grad(i))
        call.results[i] = call.grad();
      else
        rest = true;
    }
    if (!rest) return;
    if (call.create_graph)
      by_formula(call);
    else
      by_kernel(call);
  }

  void release_saved() override {
    if (!reads_) return;
    for (Saved& s : input_) s.reset();
    result_.reset();
    released_ = true;
  }

 private:
  // What the gradients that will be asked for need. The rest is not kept, and may be overwritten.
  static uint8_t reads_for(const PointwiseRow& row, Span<const Operand> inputs) {
    uint8_t reads = 0;
    for (int i = 0; i < row.inputs; ++i) {
      if (!inputs[i].is_number() && inputs[i].tensor().requires_grad()) reads |= row.reads[i];
    }
    return reads;
  }

  bool passes_grad(int i) const {
    const int how = row_.passes[i];
    return how == 1 || (how >= 2 && numbers_[how - 2].to_double() == 1);
  }

  void by_formula(BackwardCall& call) {
    PointwiseGradient g;
    g.grad = call.grad();
    const DType dtype = call.grad().dtype();
    for (int i = 0; i < row_.inputs; ++i) {
      g.wants[i] = call.wants(i) && !passes_grad(i);
      if (!reads_input(i)) continue;
      g.input[i] =
          input_[i].defined() ? input_[i].get(this) : number_tensor(number_input_[i], dtype);
    }
    g.result = result_.get(this);
    for (int i = 0; i < number_count_; ++i) g.number[i] = numbers_[i].to_double();
    row_.gradient(g);
    for (int i = 0; i < row_.inputs; ++i) {
      if (g.wants[i]) call.results[i] = row_.flat ? flat(call, g.out[i]) : g.out[i];
    }
  }

  Tensor flat(const BackwardCall& call, const Tensor& gradient) const {
    return reads_ & kReadsResult ? call.flat_in_result(gradient) : call.flat_in_inputs(gradient);
  }

  // One pass over memory: the row's gradient formulas as a kernel. What was not kept is 0: only
  // gradients that nobody wants look at it.
  void by_kernel(BackwardCall& call) {
    const Tensor& grad = call.grad();
    Tensor operands[kMaxOperands] = {grad};  // undefined: a number
    Scalar number[kMaxOperands] = {0, 0, 0, 0, 0};
    bool condition[kMaxOperands] = {};
    int n = 1;
    for (int i = 0; i < row_.inputs; ++i) {
      if (!(row_.saves_input >> i & 1)) continue;
      condition[n] = row_.bool_inputs >> i & 1;
      number[n] = number_input_[i];
      operands[n++] = reads_input(i) ? input_[i].get(this) : Tensor();
    }
    if (row_.saves_result) operands[n++] = reads_ & kReadsResult ? result_.get(this) : Tensor();

    const Dims strides = elementwise_strides(grad.sizes(), {operands, n});
    Layout layout(grad.sizes());
    int outs = 0;
    for (int i = 0; i < row_.inputs; ++i) {
      if (!(row_.differentiable >> i & 1)) continue;
      ++outs;
      if (call.wants(i) && !passes_grad(i)) {
        call.results[i] = make_empty_strided(grad.sizes(), strides, grad.dtype(), grad.device());
        layout.add(call.results[i]);
      } else {
        layout.add_absent();
      }
    }
    for (int k = 0; k < n; ++k) {
      if (operands[k].defined() && is_host_number(operands[k], grad))
        layout.add(item(operands[k]), condition[k] ? DType::BOOL : grad.dtype());
      else if (operands[k].defined())
        layout.add(operands[k]);
      else
        layout.add(number[k], condition[k] ? DType::BOOL : grad.dtype());
    }
    layout.finish();
    const Attributes attributes(grad.dtype(), {numbers_, number_count_});
    run(row_.backward_op, layout.views(0, outs), layout.views(outs, n),
        {attributes.ints, 1 + attributes.n}, {attributes.floats, attributes.n});
  }

  const PointwiseRow& row_;
  const uint8_t reads_;  // as PointwiseRow::reads
  Saved input_[kMaxPointwiseInputs], result_;
  Scalar number_input_[kMaxPointwiseInputs] = {0, 0, 0};
  Scalar numbers_[kMaxPointwiseNumbers] = {0, 0, 0, 0};
  int number_count_;
  bool released_ = false;
};

bool must_record(const PointwiseRow& row, Span<const Operand> inputs, DType out) {
  if (!grad_enabled() || row.backward_op < 0 || !is_floating(out)) return false;
  for (int i = 0; i < row.inputs; ++i) {
    if (row.differentiable >> i & 1 && !inputs[i].is_number() && inputs[i].tensor().requires_grad())
      return true;
  }
  return false;
}

void attach_edges(Node& node, const PointwiseRow& row, Span<const Operand> inputs) {
  node.connect(row.inputs, [&](int i) {
    return row.differentiable >> i & 1 ? gradient_edge(inputs[i].tensor()) : Edge();
  });
}

bool can_cast(DType from, DType to) {
  return info(from).category <= info(to).category;
}

// PyTorch refuses operands that overlap the written tensor other than exactly.
void check_overlap(const Tensor& self, Span<const Operand> inputs) {
  for (int64_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].is_number()) continue;
    const Tensor& x = inputs[i].tensor();
    if (x.storage().get() != self.storage().get() || x.numel() == 0 || self.numel() == 0) continue;
    if (x.offset() == self.offset() && x.sizes() == self.sizes() &&
        same_walk(x.sizes(), x.strides(), self.strides()))
      continue;
    if (!is_dense(x.sizes(), x.strides()) || !is_dense(self.sizes(), self.strides()))
      continue;  // cannot tell
    const bool apart =
        x.offset() + x.numel() <= self.offset() || self.offset() + self.numel() <= x.offset();
    DT_CHECK(apart, kRuntimeError,
             "unsupported operation: some elements of the input tensor and the written-to tensor "
             "refer to a single "
             "memory location. Please clone() the tensor before performing the operation.");
  }
}

}  // namespace

Operand narrowed(const Operand& x, DType common) {
  if (!x.is_number()) return to_dtype(x.tensor(), common);
  return visit(common, [&](auto zero) {
    return Operand(static_cast<int64_t>(static_cast<decltype(zero)>(x.number().to_int64())));
  });
}

DType result_type(Span<const Operand> operands) {
  // The three ranks: a lower one matters only if its category is higher.
  DType dimensioned = DType::kDefault, zero_dim = DType::kDefault, number = DType::kDefault;
  for (const Operand& x : operands) {
    if (x.is_number()) {
      const Category c = x.number().category();
      const DType t = c == Category::FLOATING  ? context().default_dtype
                      : c == Category::INTEGER ? DType::INT64
                                               : DType::BOOL;
      number = promote_types(number, t);
    } else if (x.tensor().ndim() == 0) {
      zero_dim = promote_types(zero_dim, x.tensor().dtype());
    } else {
      dimensioned = promote_types(dimensioned, x.tensor().dtype());
    }
  }
  const auto join = [](DType high, DType low) {
    if (high == DType::kDefault) return low;
    return low != DType::kDefault && info(low).category > info(high).category ? low : high;
  };
  return join(dimensioned, join(zero_dim, number));
}

Tensor pointwise(const PointwiseRow& row, Span<const Operand> inputs, PointwiseNumbers numbers) {
  const DType common = common_dtype(row, inputs);
  check_numbers(row, common, numbers);
  if (common == DType::UINT8) {
    Operand narrow[kMaxPointwiseInputs] = {0, 0, 0};
    if (narrow_operands(row, inputs, 0, narrow))
      return pointwise(row, {narrow, row.inputs}, numbers);
  }
  const Dims sizes = common_sizes(inputs);
  const DType dtype = row.bool_out ? DType::BOOL : common;
  const Tensor y =
      make_empty_strided(sizes, output_strides(inputs, sizes), dtype, common_device(inputs));
  launch({row, inputs}, y, common, numbers);
  if (must_record(row, inputs, dtype)) {
    auto* node = new PointwiseNode(row, inputs, numbers);
    const Ref<Node> owner = Ref<Node>::adopt(node);
    attach_edges(*node, row, inputs);
    node->save_result(y);
    node->outputs.resize(1);
    node->outputs[0] = OutputInfo(y);
    set_history(y, owner, 0);
  }
  return y;
}

void pointwise_(const PointwiseRow& row, Span<const Operand> inputs, PointwiseNumbers numbers) {
  const Tensor& self = inputs[0].tensor();
  const DType common = common_dtype(row, inputs);
  check_numbers(row, common, numbers);
  if (common == DType::UINT8) {
    Operand narrow[kMaxPointwiseInputs] = {0, 0, 0};
    if (narrow_operands(row, inputs, 1, narrow))
      return pointwise_(row, {narrow, row.inputs}, numbers);
  }
  const DType dtype = row.bool_out ? DType::BOOL : common;
  const Dims sizes = common_sizes(inputs);
  DT_CHECK(sizes == self.sizes(), kRuntimeError, "output with shape ", self.sizes(),
           " doesn't match the broadcast shape ", sizes);
  DT_CHECK(can_cast(dtype, self.dtype()), kRuntimeError, "result type ", type_word(dtype),
           " can't be cast to the desired output type ", type_word(self.dtype()));
  const bool recorded = must_record(row, inputs, self.dtype());
  check_inplace(self, recorded);
  check_overlap(self, inputs);
  Ref<Node> owner;
  PointwiseNode* node = nullptr;
  if (recorded) {
    node = new PointwiseNode(row, inputs, numbers);
    owner = Ref<Node>::adopt(node);
    attach_edges(*node, row, inputs);
    for (int i = 0; i < row.inputs; ++i) {
      const bool overwritten = inputs[i].tensor().is_same(self) && node->reads_input(i);
      if (overwritten) node->save_input(i, history_clone(self));
    }
  }
  launch({row, inputs}, self, common, numbers);
  finish_inplace(self, owner);
  if (node) node->save_result(self);
}

}  // namespace dt
