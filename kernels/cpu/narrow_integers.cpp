// Elementwise calls of integers that are narrower than the arithmetic types, in their own width.
#include "kernels/cpu/elementwise.h"

namespace dt::cpu {
namespace {

// Whether a number is one of the dtype's.
bool is_number_of(int32_t dtype, const dt_view& x) {
  bool fits = false;
  visit_value(dtype, [&](auto type) {
    fits = static_cast<int64_t>(number_as<typename decltype(type)::type>(x)) == x.number.i;
  });
  return fits && !is_floating(x.dtype);
}

bool is_condition(const NarrowFormula& formula, int input) {
  return (formula.bool_in >> input & 1) != 0;
}

// The dtype of all operands besides conditions, or 0 if they differ.
int32_t common_dtype(const calls::Pointwise& call, const NarrowFormula& formula) {
  int32_t dtype = formula.bool_out ? 0 : call.outputs.data->dtype;
  for (int i = 0; i < formula.n_in; ++i) {
    if (dtype == 0 && !is_condition(formula, i) && !call.inputs[i].immediate)
      dtype = call.inputs[i].dtype;
  }
  for (int i = 0; i < formula.n_in; ++i) {
    const dt_view& x = call.inputs[i];
    const bool fits = x.immediate ? is_number_of(dtype, x) : x.dtype == dtype;
    if (!fits && !is_condition(formula, i)) return 0;
  }
  return dtype;
}

TileFunction* function_of(const NarrowFormula& formula, int32_t dtype) {
  TileFunction* function = nullptr;
  visit_value(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsBool<T>) {
      if (formula.takes_bool) function = formula.on_unsigned_bytes;
    } else if constexpr (std::is_same_v<T, uint8_t>) {
      function = formula.on_unsigned_bytes;
    } else if constexpr (std::is_same_v<T, int8_t>) {
      function = formula.on_signed_bytes;
    } else if constexpr (std::is_same_v<T, int16_t>) {
      function = formula.on_shorts;
    }
  });
  return function;
}

}  // namespace

bool run_narrow(const dt_stream* stream, const calls::Pointwise& call,
                const NarrowFormula& formula) {
  if (call.compute != dtype_of<int32_t>) return false;
  const int32_t dtype = common_dtype(call, formula);
  Elementwise op;
  op.function[0][kVectors] = function_of(formula, dtype);
  if (op.function[0][kVectors] == nullptr) return false;
  op.function[0][kSecondScalar] = op.function[0][kFirstScalar] = nullptr;
  op.n_in = formula.n_in;
  op.n_out = 1;
  for (int i = 0; i < op.n_in; ++i)
    op.in_dtype[i] = is_condition(formula, i) ? dtype_of<bool> : dtype;
  op.out_dtype = formula.bool_out ? dtype_of<bool> : dtype;
  op.cycles = (op.n_in + op.n_out) * static_cast<int32_t>(bytes_of(dtype)) / 2;
  int16_t parameters[calls::PointwiseAttributes::kMax];
  char* parameter = reinterpret_cast<char*>(parameters);
  for (int i = 0; i < call.n_attributes; ++i, parameter += bytes_of(dtype))
    put_number(parameter, dtype, false, 0, call.whole(i));
  op.parameters = parameters;
  run_elementwise(stream, call.outputs.data, call.inputs.data, op);
  return true;
}

}  // namespace dt::cpu
