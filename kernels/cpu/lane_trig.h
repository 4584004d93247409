// Trigonometric functions over whole vectors: see lane_math.h.
#pragma once

#include "kernels/cpu/lane_math.h"

#if defined(__AVX512F__)

namespace dt::cpu {
namespace {

// ---- acos: a multiple of pi/2 and a multiple of an arc, which is that of |x| or, beyond 1/2, of
// the root of (1 - |x|) / 2: root + rest, as in math_host_inverse.h

struct ArcLanes {
  __mmask8 beyond;
  VectorF64 root, rest;
};

inline ArcLanes arc_lanes(VectorF64 a) {
  const __mmask8 beyond = _mm512_cmp_pd_mask(a, splat(0.5), _CMP_GT_OQ);
  const VectorF64 half = multiply_add(a, splat(-0.5), splat(0.5));
  const VectorF64 z = _mm512_mask_blend_pd(beyond, a * a, half);
  const Root near = near_root(half);
  const VectorF64 root = _mm512_mask_blend_pd(beyond, a, near.value);
  const VectorF64 dropped = _mm512_maskz_mul_pd(beyond, near.left, near.half_over);
  return {beyond, root, multiply_add(root * z, each<double, math::asin_tail>(z), dropped)};
}

inline VectorF64 lane_acos(VectorF64 x) {
  const ArcLanes arc = arc_lanes(magnitude(x));
  const __mmask8 far = _mm512_mask_cmp_pd_mask(arc.beyond, x, splat(0.0), _CMP_LT_OQ);
  const VectorF64 near = _mm512_mask_blend_pd(arc.beyond, splat(0.5 * math::kPi), VectorF64{});
  const VectorF64 turn = _mm512_mask_mov_pd(near, far, splat(math::kPi));
  const VectorF64 times = times_sign(_mm512_mask_blend_pd(arc.beyond, splat(-1.0), splat(2.0)), x);
  const VectorF64 y = multiply_add(times, arc.root, turn);
  const VectorF64 dropped = multiply_add(times, arc.root, turn - y);
  const VectorF64 turn_low = turn * (math::kPiLow / math::kPi);
  return y + (dropped + multiply_add(times, arc.rest, turn_low));
}

// ---- sin, cos, tan: NaN beyond kTrigLimit, as in math_host_trig.h

// x = n pi/2 + r. What n is lies in the low bits of `quadrant`. As long as n has 20 bits the first
// difference is exact, since no product is rounded. All parts of pi/2 are positive, so that -0
// stays what it is.
struct AngleLanes {
  VectorF64 quadrant, r, low;  // low: what r's rounding dropped
};

inline AngleLanes reduce(VectorF64 x) {
  const VectorF64 rounder = splat(0x1.8p52);
  const VectorF64 quadrant = multiply_add(x, splat(0x1.45f306dc9c883p-1), rounder);
  const VectorF64 n = quadrant - rounder;
  const VectorF64 near = multiply_add(n, splat(-0x1.921fb54442d18p+0), x);
  const VectorF64 second = multiply_add(n, splat(-0x1.1a62633145c06p-54), near);
  const VectorF64 taken = near - second, beyond_taken = (near - taken) - second;
  const VectorF64 dropped = multiply_add(n, splat(-0x1.1a62633145c06p-54), taken) + beyond_taken;
  return {quadrant, multiply_add(n, splat(-0x1.c1cd129024e09p-107), second), dropped};
}

// 1 + it is the cosine; r + it is the sine.
inline VectorF64 cosine_rest(VectorF64 z) {
  const VectorF64 tail = each<double, math::cos_tail>(z);
  return z * multiply_add(z, tail, splat(-0.5));
}
inline VectorF64 sine_rest(VectorF64 r, VectorF64 z) {
  return r * z * each<double, math::sin_tail>(z);
}

inline VectorF64 in_range(VectorF64 x, VectorF64 y) {
  const __mmask8 beyond = _mm512_cmp_pd_mask(magnitude(x), splat(math::kTrigLimit), _CMP_NLE_UQ);
  return _mm512_mask_mov_pd(y, beyond, splat(math::kNaN));
}

inline __mmask8 odd_lanes(__m512i quadrant) {
  return _mm512_test_epi64_mask(quadrant, _mm512_set1_epi64(1));
}

template <int kTurn>
inline VectorF64 lane_sine(VectorF64 x) {
  const AngleLanes angle = reduce(x);
  const VectorF64 z = angle.r * angle.r;
  const VectorF64 sine = with_sign(angle.r + sine_rest(angle.r, z), angle.r);  // keeps -0
  const VectorF64 cosine = 1 + cosine_rest(z);
  const auto quadrant = Vector<uint64_t>(angle.quadrant) + uint64_t(kTurn);
  const VectorF64 y = _mm512_mask_blend_pd(odd_lanes(__m512i(quadrant)), sine, cosine);
  return in_range(x, times_sign(y, VectorF64(quadrant << 62)));  // the sign is its second bit
}

inline VectorF64 lane_sin(VectorF64 x) {
  return lane_sine<0>(x);
}
inline VectorF64 lane_cos(VectorF64 x) {
  return lane_sine<1>(x);
}

// The quotient of sine and cosine, or of cosine and sine: what their roundings and the reciprocal's
// dropped comes to the quotient at last.
inline VectorF64 lane_tan(VectorF64 x) {
  const AngleLanes angle = reduce(x);
  const VectorF64 r = angle.r, z = r * r, s = sine_rest(r, z), c = cosine_rest(z);
  const VectorF64 sine = r + s, sine_low = (r - sine) + (s + angle.low);
  const VectorF64 cosine = 1 + c, cosine_low = (1 - cosine) + c;
  const __mmask8 odd = odd_lanes(_mm512_castpd_si512(angle.quadrant));
  const VectorF64 over = _mm512_mask_blend_pd(odd, sine, cosine);
  const VectorF64 over_low = _mm512_mask_blend_pd(odd, sine_low, cosine_low);
  const VectorF64 under = _mm512_mask_blend_pd(odd, cosine, sine);
  const VectorF64 under_low = _mm512_mask_blend_pd(odd, cosine_low, sine_low);
  const VectorF64 inverse = better_reciprocal(under, reciprocal_estimate(under));
  const VectorF64 ratio = over * inverse;
  const VectorF64 left = multiply_add(-ratio, under, over);
  const VectorF64 rest = multiply_add(-ratio, under_low, left + over_low);
  const VectorF64 y = with_sign(multiply_add(rest, inverse, ratio), r);  // keeps -0
  return in_range(x, _mm512_mask_sub_pd(y, odd, VectorF64{}, y));
}

// Of float: r + low, and tan(r) or its negative reciprocal.
inline VectorF32 lane_tan(VectorF32 x) {
  const VectorF32 rounder = splat(0x1.8p23f);
  const VectorF32 quadrant = multiply_add(x, splat(0.63661977f), rounder), n = quadrant - rounder;
  const VectorF32 near = multiply_add(n, splat(-0x1.921fb4p+0f), x);
  const VectorF32 r = multiply_add(n, splat(-0x1.4442d2p-24f), near), z = r * r;
  const VectorF32 taken = near - r, beyond_taken = (near - taken) - r;
  const VectorF32 dropped = multiply_add(n, splat(-0x1.4442d2p-24f), taken) + beyond_taken;
  const VectorF32 low = multiply_add(n, splat(0x1.ee59dap-50f), dropped);
  const VectorF32 tail = each<float, math::tan_tail>(z);
  const VectorF32 rest = multiply_add(r * z, tail, multiply_add(z, low, low));
  const VectorF32 sum = r + rest, tangent_low = (r - sum) + rest;
  const VectorF32 tangent = with_sign(sum, r);  // keeps -0
  const VectorF32 inverse = -reciprocal(tangent);
  // What the reciprocal lacks of tangent + tangent_low.
  const VectorF32 missing =
      multiply_add(inverse, tangent_low, multiply_add(inverse, tangent, splat(1.0f)));
  const VectorF32 turned = multiply_add(inverse, missing, inverse);
  const __mmask16 odd = _mm512_test_epi32_mask(_mm512_castps_si512(quadrant), _mm512_set1_epi32(1));
  const VectorF32 y = VectorF32(_mm512_mask_blend_ps(odd, tangent, turned));
  const __mmask16 beyond =
      _mm512_cmp_ps_mask(magnitude(x), splat(static_cast<float>(math::kTrigLimit)), _CMP_NLE_UQ);
  return _mm512_mask_mov_ps(y, beyond, splat(static_cast<float>(math::kNaN)));
}

}  // namespace
}  // namespace dt::cpu

#endif
