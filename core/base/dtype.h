// Element types and PyTorch's promotion rules.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/abi.h"

namespace dt {

enum class DType : int32_t {
  kDefault = 0,  // "not given": the library's default, or the input's
#define DT_DTYPE_ROW(NAME, name, type, bytes, category, compute, safetensors, dlpack) \
  NAME = DT_##NAME,
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
};

// Promotion goes by category first, then by width (torch.result_type).
enum class Category : uint8_t { BOOL, INTEGER, FLOATING };

struct DTypeInfo {
  const char* name;  // "float32"
  int bytes;
  Category category;
  DType compute;            // arithmetic is done in this type
  const char* safetensors;  // "F32"
  int dlpack_code;
};

inline constexpr DTypeInfo kDTypes[] = {
    {"default", 0, Category::BOOL, DType::kDefault, "", 0},
#define DT_DTYPE_ROW(NAME, name, type, bytes, category, compute, safetensors, dlpack) \
  {#name, bytes, Category::category, DType::compute, safetensors, dlpack},
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
inline void append(std::string& s, DType t) {
  s += info(t).name;
}

// torch.promote_types. uint8 with a signed integer gives the signed one (all here are wider).
constexpr DType promote_types(DType a, DType b) {
  if (a == DType::kDefault) return b;
  if (b == DType::kDefault) return a;
  if (info(a).category != info(b).category) return info(a).category > info(b).category ? a : b;
  return info(a).bytes >= info(b).bytes ? a : b;
}

// What PyTorch's sentences call a dtype: "Float".
inline const char* type_word(DType t) {
  switch (t) {
    case DType::FLOAT32:
      return "Float";
    case DType::FLOAT64:
      return "Double";
    case DType::INT64:
      return "Long";
    case DType::INT32:
      return "Int";
    case DType::UINT8:
      return "Byte";
    case DType::BOOL:
      return "Bool";
    default:
      return "Undefined";
  }
}

// And where they name the C++ type instead: "float".
inline const char* c_type_word(DType t) {
  switch (t) {
    case DType::FLOAT32:
      return "float";
    case DType::FLOAT64:
      return "double";
    case DType::INT64:
      return "long int";
    case DType::INT32:
      return "int";
    case DType::UINT8:
      return "unsigned char";
    case DType::BOOL:
      return "bool";
    default:
      return "undefined";
  }
}

// Calls f with a value of the C++ type of `t`: visit(t, [&](auto zero) { using T = decltype(zero);
// ... }).
template <class F>
decltype(auto) visit(DType t, F&& f) {
  switch (t) {
    case DType::FLOAT64:
      return f(double{});
    case DType::INT64:
      return f(int64_t{});
    case DType::INT32:
      return f(int32_t{});
    case DType::UINT8:
      return f(uint8_t{});
    case DType::BOOL:
      return f(bool{});
    default:
      return f(float{});
  }
}

}  // namespace dt
