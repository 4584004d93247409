// float16 from and to float, by the instructions that there are for it from x86-64-v3 on. Which
// bits a NaN has is theirs to say.
#pragma once

#include "kernels/cpu/lanes.h"

namespace dt::cpu {
namespace {

// How many elements the instructions take at a time.
constexpr int64_t kHalves = kVectorBytes / sizeof(float);

inline void convert_halves(float* y, const Float16* x, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + kHalves <= n; i += kHalves)
    _mm512_storeu_ps(y + i,
                     _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
#elif defined(__F16C__)
  for (; i + kHalves <= n; i += kHalves)
    _mm256_storeu_ps(y + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
#endif
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

inline void convert_halves(Float16* y, const float* x, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + kHalves <= n; i += kHalves)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  for (; i + kHalves <= n; i += kHalves)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) y[i] = static_cast<Float16>(x[i]);
}

template <class To, class From>
constexpr bool kConvertsHalves = (std::is_same_v<To, float> && std::is_same_v<From, Float16>) ||
                                 (std::is_same_v<To, Float16> && std::is_same_v<From, float>);

}  // namespace
}  // namespace dt::cpu
