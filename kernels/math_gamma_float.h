// Derivatives of Gamma's logarithm for floats above 0, in floats alone: for devices whose doubles
// are slow beside them. Included by math_special.h.
#pragma once

namespace dt::math {

DT_MATH float horner(float, float c) {
  return c;
}

template <class... More>
DT_MATH float horner(float x, float c, More... more) {
  return fma(horner(x, more...), x, c);
}

// digamma(1 + z) / (z - z0) in t = z - 1 on [0, 2), where z0 is its zero; error 2^-28. What is near
// the zero keeps its digits if z - z0 does.
DT_MATH float digamma_over_distance(float t) {
  return horner(t, 0.785307527f, -0.260738969f, 0.10899993f, -0.0495500304f, 0.0234468076f,
                -0.0113490904f, 0.00555758225f, -0.0026902901f, 0.00133350492f, -0.000789976621f,
                0.000393754599f, -3.02439475e-05f, 1.50026399e-05f, -0.00011828127f,
                5.91184071e-05f);
}

// Up to 3 by the polynomial, then by Stirling's series, from 6 on at x and before at x + 3.
DT_MATH float digamma_above_zero(float x) {
  if (x < 3.0f) {
    constexpr float kZero = 0.4616321325302124f, kZeroRest = 1.243815006546356e-08f;
    const bool is_small = x < 1.0f;
    const float z = is_small ? x : x - 1.0f;
    const float value = ((z - kZero) - kZeroRest) * digamma_over_distance(z - 1.0f);
    return is_small ? value - 1.0f / x : value;
  }
  const bool near = x < 6.0f;
  const float shifted = near ? x + 3.0f : x, over = 1.0f / shifted, z = over * over;
  const float rest = horner(z, 1.0f / 12, -1.0f / 120, 1.0f / 252, -1.0f / 240);
  const float far = log(shifted) - fma(z, rest, 0.5f * over);
  // 1 / x + 1 / (x + 1) + 1 / (x + 2)
  return near ? far - horner(x, 2.0f, 6.0f, 3.0f) / (x * horner(x, 2.0f, 3.0f, 1.0f)) : far;
}

// 1 / x^2 + 1 / (x + 1)^2
DT_MATH float two_squares(float x) {
  const float next = x + 1.0f, product = x * next;
  return fma(x, x, next * next) / (product * product);
}

// The derivative of digamma: by its series, from 5 on at x and before at x + 5. All terms are
// positive.
DT_MATH float trigamma_above_zero(float x) {
  const bool near = x < 5.0f;
  const float shifted = near ? x + 5.0f : x, over = 1.0f / shifted, z = over * over;
  const float rest = horner(z, 1.0f / 6, -1.0f / 30, 1.0f / 42, -1.0f / 30);
  const float far = fma(over * z, rest, fma(0.5f, z, over));
  if (!near) return far;
  const float first = 1.0f / x;
  return fma(first, first, far + two_squares(x + 3.0f) + two_squares(x + 1.0f));
}

}  // namespace dt::math
