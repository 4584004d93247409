// Floating-point elements of 16 bits: float16 (IEEE 754 binary16) and bfloat16 (the upper half of a
// float). They are stored, not calculated with: a value is widened to float, in which both are
// exact, and a result is rounded to the nearest one, to even where two are as near.
#pragma once

#include <stdint.h>

#include <limits>
#include <type_traits>

#include "kernels/math.h"

namespace dt {

DT_MATH uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

DT_MATH float float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// 1 sign, 5 exponent and 10 fraction bits. All ways are computed and one is chosen, without jumps,
// so that loops become vector code. NaN stays NaN, but with which bits differs between host and
// device.
struct Binary16 {
  static constexpr int kDigits = 11, kExponents = 16;
  static constexpr uint16_t kMax = 0x7bff;

  DT_MATH static float widen(uint16_t bits) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    constexpr uint32_t kRebias = (127 - 15) << 23;
    const uint32_t sign = (bits & 0x8000u) << 16;
    const uint32_t magnitude = bits & 0x7fffu;
    // Infinity and NaN have the largest exponent in both formats.
    const uint32_t special = magnitude >= 0x7c00u ? kRebias : 0;
    const uint32_t normal = (magnitude << 13) + kRebias + special;
    const uint32_t subnormal =
        bits_of(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
    return float_of(sign | (magnitude < 0x400u ? subnormal : normal));
#endif
  }

  DT_MATH static uint16_t round(float value) {
#ifdef __CUDA_ARCH__
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    const uint32_t all = bits_of(value);
    const uint32_t sign = all >> 16 & 0x8000u;
    const uint32_t magnitude = all & 0x7fffffffu;
    // Half of what is cut off is added first, less one where the last bit that stays is even.
    const uint32_t normal =
        (magnitude - ((127u - 15u) << 23) + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    // In a sum with 0.5 the last bit is worth 2^-24, as in a subnormal number: the sum rounds.
    const uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
    return static_cast<uint16_t>(sign | (magnitude >= 0x47800000u ? special : finite));
#endif
  }
};

// 1 sign, 8 exponent and 7 fraction bits.
struct Brain16 {
  static constexpr int kDigits = 8, kExponents = 128;
  static constexpr uint16_t kMax = 0x7f7f;

  DT_MATH static float widen(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }

  DT_MATH static uint16_t round(float value) {
#ifdef __CUDA_ARCH__
    uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    const uint32_t bits = bits_of(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>(value != value ? 0x7fc0u : rounded);
#endif
  }
};

template <class Format>
struct NarrowFloat {
  uint16_t bits;

  NarrowFloat() = default;
  template <class T>
  DT_MATH explicit NarrowFloat(T value) : bits(Format::round(static_cast<float>(value))) {}

  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  DT_MATH explicit operator T() const {
    return static_cast<T>(Format::widen(bits));
  }
  friend DT_MATH bool operator!=(NarrowFloat a, NarrowFloat b) {
    return static_cast<float>(a) != static_cast<float>(b);
  }
};

using Float16 = NarrowFloat<Binary16>;
using BFloat16 = NarrowFloat<Brain16>;

template <class T>
constexpr bool kIsNarrowFloat = false;
template <class Format>
constexpr bool kIsNarrowFloat<NarrowFloat<Format>> = true;

// What C++ calculates with in the place of T.
template <class T>
using Widened = std::conditional_t<kIsNarrowFloat<T>, float, T>;

}  // namespace dt

// Numbers about a format; the largest one is given as a float.
template <class Format>
struct std::numeric_limits<dt::NarrowFloat<Format>> {
  static constexpr int digits = Format::kDigits;
  static float max() { return Format::widen(Format::kMax); }
  static float lowest() { return -max(); }
};
