// Element types in core: the rows of kernels/dtype.def, PyTorch's promotion, and the dtypes that
// have a role. Elsewhere a dtype is meant by its role or by its C++ type, never by its name.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"
#include "kernels/dtype.h"

namespace dt {

enum class DType : int32_t {
  kDefault = 0,  // "not given": the library's default, or the input's
#define DT_DTYPE_ROW(NAME, ...) NAME = DT_##NAME,
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
};

struct DTypeInfo {
  const char* name;  // "float32"
  int bytes;
  Category category;
  DType compute;            // arithmetic is done in this type
  const char* torch;        // what PyTorch's sentences call it: "Float"
  const char* type_id;      // where they name the C++ type instead: "unsigned char"
  const char* c10;          // where c10 does: "uint8_t"
  const char* safetensors;  // "F32"
  int dlpack_code;
};

inline constexpr DTypeInfo kDTypes[] = {
    {"default", 0, Category::BOOL, DType::kDefault, "Undefined", "undefined", "undefined", "", 0},
#define DT_DTYPE_ROW(NAME, name, T, bytes, category, compute, ...) \
  {#name, bytes, Category::category, DType::compute, __VA_ARGS__},
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
};
inline constexpr int kDTypeCount = DT_DTYPE_COUNT_;

constexpr const DTypeInfo& info(DType t) {
  return kDTypes[static_cast<int>(t)];
}
constexpr bool is_floating(DType t) {
  return info(t).category == Category::FLOATING;
}
constexpr bool is_integral(DType t) {
  return info(t).category == Category::INTEGER;
}
constexpr bool is_bool(DType t) {
  return t != DType::kDefault && info(t).category == Category::BOOL;
}
// Whether it is calculated in a wider dtype of its category.
constexpr bool is_narrow(DType t) {
  return info(t).compute != t && info(t).category != Category::BOOL;
}
inline void append(std::string& s, DType t) {
  s += info(t).name;
}
inline const char* type_word(DType t) {
  return info(t).torch;
}
inline const char* c_type_word(DType t) {
  return info(t).type_id;
}

// ---- roles

// The dtype of a C++ type.
template <class T>
inline constexpr DType kDTypeOf = static_cast<DType>(dtype_of<T>);

inline constexpr DType kMaskDType = kDTypeOf<bool>;
inline constexpr DType kIndexDType = kDTypeOf<int64_t>;    // positions and counts
inline constexpr DType kIntegerDType = kDTypeOf<int64_t>;  // what plain integers become
inline constexpr DType kRealDType = kDTypeOf<double>;      // real numbers with all their digits
inline constexpr DType kByteDType = kDTypeOf<uint8_t>;     // images, and PyTorch's masks of old

constexpr bool is_mask(DType t) {
  return t == kMaskDType || t == kByteDType;
}

// Indices may be int32 or int64; kernels take int64.
constexpr bool is_index(DType t) {
  return t == kIndexDType || t == kDTypeOf<int32_t>;
}

// ---- promotion

// Whether a dtype has room for all numbers of another one of its category.
constexpr bool holds_all_of(DType wide, DType narrow) {
  return wide == narrow || info(wide).bytes > info(narrow).bytes;
}

// torch.promote_types: the narrowest dtype of the higher category with room for both.
constexpr DType promote_types(DType a, DType b) {
  if (a == b || b == DType::kDefault) return a;
  if (a == DType::kDefault) return b;
  if (info(a).category != info(b).category) return info(a).category > info(b).category ? a : b;
  DType best = DType::kDefault;
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    const bool fits =
        info(t).category == info(a).category && holds_all_of(t, a) && holds_all_of(t, b);
    if (fits && (best == DType::kDefault || info(t).bytes < info(best).bytes)) best = t;
  }
  return best;
}

constexpr bool promotes_all() {
  for (int a = 1; a < kDTypeCount; ++a) {
    for (int b = 1; b < kDTypeCount; ++b) {
      if (promote_types(static_cast<DType>(a), static_cast<DType>(b)) == DType::kDefault)
        return false;
    }
  }
  return true;
}
static_assert(promotes_all(), "two dtypes have no common one");

// ---- from a dtype to its C++ type: visit(t, [&](auto type) { using T = typename
// decltype(type)::type; ... }).

template <class F>
decltype(auto) visit(DType t, const F& f) {
  switch (t) {
#define DT_DTYPE_ROW(NAME, name, T, ...) \
  case DType::NAME:                      \
    return f(Type<T>());
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
    case DType::kDefault:
      break;
  }
  fail(Code::kInternal, "no element is of dtype ", info(t).name);
}

}  // namespace dt
