#include "core/ops/promotion.h"

#include "core/ops/copy.h"
#include "core/runtime/context.h"

namespace dt {

DType result_type(Span<const OperandRef> operands) {
  // The three ranks: a lower one matters only if its category is higher.
  DType dimensioned = DType::kDefault, zero_dim = DType::kDefault, number = DType::kDefault;
  bool is_beyond = false;
  for (const OperandRef& x : operands) {
    if (x.is_number()) {
      const Category c = x.number().category();
      const DType t = c == Category::FLOATING  ? context().default_dtype
                      : c == Category::INTEGER ? kIntegerDType
                                               : kMaskDType;
      number = promote_types(number, t);
      is_beyond |= x.number().is_beyond_int64();
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
  const DType tensors = join(dimensioned, zero_dim);
  const DType all = join(dimensioned, join(zero_dim, number));
  const bool are_numbers = tensors == DType::kDefault;
  DT_CHECK(!is_beyond || (are_numbers ? is_floating(all) : !is_bool(tensors)), kRuntimeError,
           "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote Bool "
           "and UInt64");
  return all;
}

Operand narrowed(const Operand& x, DType common) {
  if (!x.is_number()) return to_dtype(x.tensor(), common);
  return visit(common, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsFloating<T>) {
      return Operand(static_cast<double>(static_cast<T>(x.number().to_double())));
    } else {
      return Operand(static_cast<int64_t>(static_cast<T>(x.number().to_int64())));
    }
  });
}

bool can_cast(DType from, DType to) {
  return info(from).category <= info(to).category;
}

}  // namespace dt
