// Element types as core and the kernels of all backends know them: what a dtype's number says, what
// its C++ type says, and the way from one to the other. Everything comes from the table dtype.def,
// so that a new row is either handled here or does not compile; nobody else names a dtype (the lint
// step checks it).
#pragma once

#include <stdint.h>

#include <type_traits>

#include "kernels/abi.h"
#include "kernels/narrow.h"

namespace dt {

// Promotion goes by category first, then by width (torch.result_type).
enum class Category : uint8_t { BOOL, INTEGER, FLOATING };

// A type as a value that functions can take.
template <class T>
struct Type {
  using type = T;
};

// ---- by C++ type

template <class T>
struct DtypeTraits;  // none for a type that is no dtype's

#define DT_DTYPE_ROW(NAME, name, T, bytes, category, ...)          \
  template <>                                                      \
  struct DtypeTraits<T> {                                          \
    static_assert(sizeof(T) == bytes, #name " has another width"); \
    static constexpr int32_t kDtype = DT_##NAME;                   \
    static constexpr Category kCategory = Category::category;      \
  };
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW

template <class T>
constexpr int32_t dtype_of = DtypeTraits<T>::kDtype;

template <class T, class = void>
constexpr bool kIsFloating = false;
template <class T>
constexpr bool kIsFloating<T, std::void_t<decltype(DtypeTraits<T>::kDtype)>> =
    DtypeTraits<T>::kCategory == Category::FLOATING;
template <class T>
constexpr bool kIsBool = std::is_same_v<T, bool>;

// An unsigned integer of so many bytes.
template <int kBytes>
using Bits = typename std::conditional_t<
    kBytes == 1, Type<uint8_t>,
    std::conditional_t<kBytes == 2, Type<uint16_t>,
                       std::conditional_t<kBytes == 4, Type<uint32_t>,
                                          std::enable_if<kBytes == 8, uint64_t>>>>::type;

// What elements are in memory: a bool is a byte that holds 0 or 1.
template <class T>
using Stored = std::conditional_t<kIsBool<T>, uint8_t, T>;

// What sums and products of Ts are formed in: integers wrap around, which only unsigned ones do.
template <class T>
using WrapAround =
    typename std::conditional_t<kIsFloating<T>, Type<T>, Type<Bits<sizeof(T)>>>::type;

// ---- by number

// 0 for an absent operand's dtype.
constexpr int64_t bytes_of(int32_t dtype) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, T, bytes, ...) \
  case DT_##NAME:                               \
    return bytes;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return 0;
}

constexpr bool is_of(int32_t dtype, Category category) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, T, bytes, of, ...) \
  case DT_##NAME:                                   \
    return category == Category::of;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return false;
}

constexpr bool is_floating(int32_t dtype) {
  return is_of(dtype, Category::FLOATING);
}
constexpr bool is_bool(int32_t dtype) {
  return is_of(dtype, Category::BOOL);
}

// The dtype that arithmetic on elements of a dtype is done in.
constexpr int32_t compute_of(int32_t dtype) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, T, bytes, category, compute, ...) \
  case DT_##NAME:                                                  \
    return DT_##compute;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return DT_DTYPE_DEFAULT_;
}

// The integer dtype of a width: elements of others can be moved as its elements.
constexpr int32_t integer_of(int64_t bytes) {
#define DT_DTYPE_ROW(NAME, name, T, width, category, ...) \
  if (Category::category == Category::INTEGER && bytes == width) return DT_##NAME;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  return DT_DTYPE_DEFAULT_;
}
#define DT_DTYPE_ROW(NAME, name, T, bytes, ...) \
  static_assert(integer_of(bytes) != DT_DTYPE_DEFAULT_, "no integer is as wide as " #name);
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW

// Whether elements of a dtype can be taken for Ts where they lie: for their own type, or for what
// wraps around in its place.
template <class T>
constexpr bool holds(int32_t dtype) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, Own, ...) \
  case DT_##NAME:                          \
    return std::is_same_v<T, Own> || std::is_same_v<T, WrapAround<Own>>;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return false;
}

// Whether a conversion leaves all bits as they are.
constexpr bool keeps_bits(int32_t from, int32_t to) {
  return from == to || (is_bool(from) && is_of(to, Category::INTEGER) && bytes_of(to) == 1);
}

// Whether C++ does not calculate with the elements of a dtype as they are. Narrow floats are only
// stored: kernels convert them tile by tile, or `run` does it for kernels that do not.
constexpr bool is_narrow_float(int32_t dtype) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, T, ...) \
  case DT_##NAME:                        \
    return kIsNarrowFloat<T>;
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return false;
}

// ---- from a number to a C++ type: f(Type<T>()) for the T of a dtype. The result is what f gives,
// a DT_KERNEL_ code or nothing, which is DT_KERNEL_OK; DT_KERNEL_UNSUPPORTED for dtypes of other
// classes. Narrow floats are known to visit_any and to the visitors of what is stored; the others
// give types that C++ calculates with.

template <class F, class T>
int32_t visited(const F& f, Type<T> type) {
  if constexpr (std::is_void_v<decltype(f(type))>) {
    f(type);
    return DT_KERNEL_OK;
  } else {
    return f(type);
  }
}

template <Category kLowest, Category kHighest, bool kStoredOnly = false, class F>
int32_t visit_between(int32_t dtype, const F& f) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, T, bytes, category, ...)                            \
  case DT_##NAME:                                                                    \
    if constexpr (kLowest <= Category::category && Category::category <= kHighest && \
                  (kStoredOnly || !kIsNarrowFloat<T>)) {                             \
      return visited(f, Type<T>());                                                  \
    } else {                                                                         \
      break;                                                                         \
    }
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return DT_KERNEL_UNSUPPORTED;
}

template <class F>
int32_t visit_floating(int32_t dtype, const F& f) {
  return visit_between<Category::FLOATING, Category::FLOATING>(dtype, f);
}

// visit_stored_: narrow floats too, for kernels that widen what they load.
template <class F>
int32_t visit_stored_floating(int32_t dtype, const F& f) {
  return visit_between<Category::FLOATING, Category::FLOATING, true>(dtype, f);
}

template <class F>
int32_t visit_integer(int32_t dtype, const F& f) {
  return visit_between<Category::INTEGER, Category::INTEGER>(dtype, f);
}

// Floating or integer.
template <class F>
int32_t visit_stored_number(int32_t dtype, const F& f) {
  return visit_between<Category::INTEGER, Category::FLOATING, true>(dtype, f);
}

template <class F>
int32_t visit_number(int32_t dtype, const F& f) {
  return visit_between<Category::INTEGER, Category::FLOATING>(dtype, f);
}

// Floating, integer or bool.
template <class F>
int32_t visit_value(int32_t dtype, const F& f) {
  return visit_between<Category::BOOL, Category::FLOATING>(dtype, f);
}

// Every dtype, for conversions.
template <class F>
int32_t visit_any(int32_t dtype, const F& f) {
  return visit_between<Category::BOOL, Category::FLOATING, true>(dtype, f);
}

// The dtypes that arithmetic is done in.
template <Category kLowest = Category::INTEGER, Category kHighest = Category::FLOATING, class F>
int32_t visit_compute(int32_t dtype, const F& f) {
  switch (dtype) {
#define DT_DTYPE_ROW(NAME, name, T, bytes, category, compute, ...)              \
  case DT_##NAME:                                                               \
    if constexpr (DT_##NAME == DT_##compute && kLowest <= Category::category && \
                  Category::category <= kHighest) {                             \
      return visited(f, Type<T>());                                             \
    } else {                                                                    \
      break;                                                                    \
    }
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  }
  return DT_KERNEL_UNSUPPORTED;
}

// For kernels that move elements without looking at them: an unsigned integer of the same width.
template <class F>
int32_t visit_bytes(int64_t bytes, const F& f) {
#define DT_DTYPE_ROW(NAME, name, T, width, ...) \
  if (bytes == width) return visited(f, Type<Bits<width>>());
#include "kernels/dtype.def"
#undef DT_DTYPE_ROW
  return DT_KERNEL_UNSUPPORTED;
}

template <class F>
int32_t visit_width(int32_t dtype, const F& f) {
  return visit_bytes(bytes_of(dtype), f);
}

// ---- plain numbers

// A number, whole or real, as an element: what is real is truncated where elements are whole.
template <class T>
constexpr T number_as(bool is_real, double f, int64_t i) {
  if constexpr (kIsBool<T>) {
    return is_real ? f != 0 : i != 0;
  } else if constexpr (kIsFloating<T>) {
    return is_real ? static_cast<T>(f) : static_cast<T>(i);
  } else {
    return static_cast<T>(is_real ? static_cast<int64_t>(f) : i);
  }
}

// `struct`, because the public API has a function of that name.
template <class T>
inline T number_as(const struct dt_view& immediate) {
  return number_as<T>(is_floating(immediate.dtype), immediate.number.f, immediate.number.i);
}

// Writes a number as an element of `dtype`.
inline void put_number(void* to, int32_t dtype, bool is_real, double f, int64_t i) {
  visit_any(dtype, [&](auto type) {
    const auto value = number_as<typename decltype(type)::type>(is_real, f, i);
    __builtin_memcpy(to, &value, sizeof value);
  });
}

inline void put_number(void* to, int32_t dtype, const struct dt_view& immediate) {
  put_number(to, dtype, is_floating(immediate.dtype), immediate.number.f, immediate.number.i);
}

}  // namespace dt
