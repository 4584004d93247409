// What follows a norm in many networks: y = min(max(y + addend, 0), limit), of floats. Flags say
// which elements have a gradient: those of a packet of neighbours share a byte. The last packet of
// a run may have fewer.
#pragma once

#include "kernels/cpu/simd.h"

namespace dt::cpu {
namespace {

constexpr int64_t kPacket = 16 / sizeof(float);

// The lanes of flags that a vector of floats has, each in the place of its bit.
typedef uint32_t FlagLanes __attribute__((vector_size(kVectorBytes)));

inline FlagLanes flag_bits() {
  FlagLanes bit;
  for (uint32_t i = 0; i < kLanes<float>; ++i) bit[i] = 1u << (i / kPacket * 8 + i % kPacket);
  return bit;
}

// A bit for each lane that is not 0, from the lowest on.
inline uint32_t lanes_set(Vector<int32_t> lanes) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(lanes));
#elif defined(__AVX__)
  return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(lanes)));
#else
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kLanes<float>; ++i) bits |= (lanes[i] & 1u) << i;
  return bits;
#endif
}

// The same as bytes of packets.
inline uint32_t packet_bytes(uint32_t bits) {
  return (bits & 0xf) | (bits & 0xf0) << 4 | (bits & 0xf00) << 8 | (bits & 0xf000) << 12;
}

// Calls body(i, lanes) for a run, a vector at a time; lanes is a constant but for the last.
template <class T = float, class Body>
inline void for_each_vector(int64_t n, const Body& body) {
  constexpr int64_t kLane = kLanes<T>;
  int64_t i = 0;
  for (; i + kLane <= n; i += kLane) body(i, std::integral_constant<int64_t, kLane>());
  if (i < n) body(i, n - i);
}

// What becomes of a run.
struct ReluRun {
  const float* addend;  // or none
  float limit;
  uint8_t* flags;  // or none

  // Of some lanes from element i on.
  Vector<float> y(Vector<float> sum, int64_t i, int64_t lanes) const {
    if (addend) sum += lanes == kLanes<float> ? load(addend + i) : load_first(addend + i, lanes);
    const Vector<float> most = splat(limit);
    const bool has_limit = limit < Limits<float>::kHighest;
    const Vector<int32_t> is_low = sum <= 0.0f, is_high = has_limit ? sum >= most : is_low & 0;
    if (flags) {
      const uint32_t bytes = packet_bytes(lanes_set(~(is_low | is_high)));  // NaN passes
      __builtin_memcpy(flags + i / kPacket, &bytes, static_cast<size_t>(ceil_div(lanes, kPacket)));
    }
    sum = sum < 0.0f ? Vector<float>{} : sum;
    return is_high ? most : sum;
  }
};

// Lanes of g, so many, where they pass, else 0.
inline Vector<float> passing(Vector<float> g, const uint8_t* flags, int64_t lanes) {
  uint32_t bytes = 0;
  __builtin_memcpy(&bytes, flags, static_cast<size_t>(ceil_div(lanes, kPacket)));
  return (flag_bits() & bytes) != 0 ? g : Vector<float>{};
}

}  // namespace
}  // namespace dt::cpu
