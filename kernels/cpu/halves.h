// Floats of 16 bits from and to float, a vector at a time where the instruction set has one for it:
// from x86-64-v3 on. Which bits a NaN of float16 has is the instructions' to say.
#pragma once

#include "kernels/cpu/lanes.h"

namespace dt::cpu {
namespace {

// How many elements the instructions take at a time.
constexpr int64_t kHalves = kVectorBytes / sizeof(float);

#if defined(__AVX512F__)

inline Vector<float> widen_halves(const Float16* x) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}

inline Vector<float> widen_halves(const BFloat16* x) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// As many as a vector has doubles.
inline Vector<double> widen_to_doubles(const Float16* x) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  return _mm512_cvtps_pd(_mm256_cvtph_ps(bits));
}

inline Vector<double> widen_to_doubles(const BFloat16* x) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)));
}

inline void round_halves(Float16* y, Vector<float> x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

inline void store_low_halves(BFloat16* y, Vector<uint32_t> bits) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                      _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(bits)));
}

#elif defined(__F16C__)

inline Vector<float> widen_halves(const Float16* x) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

inline Vector<float> widen_halves(const BFloat16* x) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

inline Vector<double> widen_to_doubles(const Float16* x) {
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x));
  return _mm256_cvtps_pd(_mm_cvtph_ps(bits));
}

inline Vector<double> widen_to_doubles(const BFloat16* x) {
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x));
  return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(bits), 16)));
}

inline void round_halves(Float16* y, Vector<float> x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

inline void store_low_halves(BFloat16* y, Vector<uint32_t> bits) {
  const __m256i all = reinterpret_cast<__m256i>(bits);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                   _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
}

#endif

#if defined(__F16C__)

// The first n of a vector, then zeros.
template <class Half>
inline Vector<float> widen_first(const Half* x, int64_t n) {
  if (n == kHalves) return widen_halves(x);
  alignas(kHalves * sizeof(Half)) Half few[kHalves] = {};
#if defined(__AVX512F__)
  const auto wanted = static_cast<__mmask16>((1u << n) - 1);
  _mm256_store_si256(reinterpret_cast<__m256i*>(few), _mm256_maskz_loadu_epi16(wanted, x));
#else
  __builtin_memcpy(few, x, static_cast<size_t>(n) * sizeof(Half));
#endif
  return widen_halves(static_cast<const Half*>(few));
}

template <class Half>
inline Vector<double> widen_first_to_doubles(const Half* x, int64_t n) {
  if (n == kHalves / 2) return widen_to_doubles(x);
  Half few[kHalves / 2] = {};
  __builtin_memcpy(few, x, static_cast<size_t>(n) * sizeof(Half));
  return widen_to_doubles(static_cast<const Half*>(few));
}

// Brain16::round of each.
inline void round_halves(BFloat16* y, Vector<float> x) {
  const auto bits = reinterpret_cast<Vector<uint32_t>>(x);
  const Vector<uint32_t> rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  store_low_halves(y, x != x ? Vector<uint32_t>{} + 0x7fc0u : rounded);
}

#endif

template <class Half>
inline void convert_halves(float* y, const Half* x, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + kHalves <= n; i += kHalves) store(y + i, widen_halves(x + i));
#endif
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

template <class Half>
inline void convert_halves(Half* y, const float* x, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + kHalves <= n; i += kHalves) round_halves(y + i, load(x + i));
#endif
  for (; i < n; ++i) y[i] = static_cast<Half>(x[i]);
}

template <class To, class From>
constexpr bool kConvertsHalves = (std::is_same_v<To, float> && kIsNarrowFloat<From>) ||
                                 (kIsNarrowFloat<To> && std::is_same_v<From, float>);

}  // namespace
}  // namespace dt::cpu
