// The call of a kernel as core writes it: operands and attributes by name. core/runtime/calls has a
// struct for each kernel of the schema.
#pragma once

#include <array>
#include <vector>

#include "core/base/span.h"
#include "core/tensor/tensor.h"
#include "kernels/abi.h"
#include "kernels/calls/pointwise.h"

namespace dt {

// An operand of a kernel call. It is large and mostly empty, so only what is used is written.
struct View : dt_view {
  View() { clear(); }  // absent
  View(const Tensor& t) { *this = t; }
  // The tensor's memory under other sizes and strides.
  View(const Tensor& t, IntList sizes, IntList strides, int64_t offset) {
    show(t, sizes, strides, offset);
  }
  // A number, broadcast over `ndim` dimensions of the given sizes.
  View(const Scalar& number, DType dtype, IntList sizes);
  View(const View& other) { *this = other; }

  View(Tensor&&) = delete;           // its memory would be gone before the call
  View& operator=(const Tensor& t);  // absent if it is undefined
  View& operator=(Tensor&&) = delete;
  View& operator=(const View& other);
  void show(const Tensor& t, IntList sizes, IntList strides, int64_t offset);

 private:
  void clear() {
    data = nullptr;
    dtype = 0;
    ndim = 0;
    immediate = 0;
    device = -1;
  }
};
static_assert(sizeof(View) == sizeof(dt_view), "spans of View are spans of dt_view");

using Floats = Span<const double>;

// An op that has kernels, whose calls are of one type.
template <class Call>
struct Op {
  int number;  // in the kernel tables
};

// The operands of a call, to which its struct gives names.
template <int kOutputs, int kInputs>
struct Operands {
  View outputs[kOutputs], inputs[kInputs > 0 ? kInputs : 1];

  Operands() = default;
  Operands(const Operands&) = delete;  // the names refer to these very views
  Operands& operator=(const Operands&) = delete;
  Span<const View> outs() const { return {outputs, kOutputs}; }
  Span<const View> ins() const { return {inputs, kInputs}; }
};

// The same where some names are lists.
struct ListedOperands {
  std::vector<View> outputs, inputs;

  ListedOperands(int64_t outputs, int64_t inputs)
      : outputs(static_cast<size_t>(outputs)), inputs(static_cast<size_t>(inputs)) {}
  ListedOperands(const ListedOperands&) = delete;
  ListedOperands& operator=(const ListedOperands&) = delete;
  Span<const View> outs() const { return outputs; }
  Span<const View> ins() const { return inputs; }
  // Without a last list that was not filled in.
  static Span<const View> given(const std::vector<View>& views, Span<View> last) {
    const bool is_absent = !last.empty() && last[0].dtype == 0;
    return {views.data(), static_cast<int64_t>(views.size()) - (is_absent ? last.size() : 0)};
  }
};

// The call of any elementwise op, whose operands share an iteration space.
struct PointwiseCall {
  Span<const View> outputs, inputs;  // outlive the call
  calls::PointwiseAttributes attributes;

  explicit PointwiseCall(DType common) : attributes(static_cast<int32_t>(info(common).compute)) {}
  Span<const View> outs() const { return outputs; }
  Span<const View> ins() const { return inputs; }
  IntList ints() const { return {attributes.ints, 1 + attributes.n}; }
  Floats floats() const { return {attributes.floats, attributes.n}; }
};

// The call of any optimizer (kernels/calls/optimizer.h).
struct OptimizerCall {
  std::vector<View> outputs;    // the parameters, then their state, list by list
  std::vector<View> inputs;     // the gradients, then the learning rate and found_inf
  std::vector<int64_t> flags;   // the settings that are truth values, in the row's order
  std::vector<double> numbers;  // the others but for the learning rate

  Span<const View> outs() const { return outputs; }
  Span<const View> ins() const { return inputs; }
  IntList ints() const { return flags; }
  Floats floats() const { return numbers; }
};

}  // namespace dt
