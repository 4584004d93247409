// Random numbers that are the same on every device: Philox4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011) by the logical index of an element, and what is drawn from
// its words.
//
// A block of four words is a pure function of a counter and a key, so that any thread can make any
// element. All arithmetic from words to numbers is + - * / and square root, rounded to nearest and
// never contracted, hence the same bits everywhere. The constants here are part of that promise:
// another polynomial, even a better one, would change the numbers behind every seed.
#pragma once

#include "kernels/math.h"

namespace dt::philox {

struct Block {
  uint32_t word[4];
};

constexpr uint32_t kMultiplier0 = 0xd2511f53u, kMultiplier1 = 0xcd9e8d57u;
constexpr uint32_t kWeyl0 = 0x9e3779b9u, kWeyl1 = 0xbb67ae85u;
constexpr int kRounds = 10;

// Of two numbers of 32 bits. For a product of 64-bit numbers nvcc adds the zeros of their upper
// halves to each.
DT_MATH uint64_t wide_product(uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
  uint64_t product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return uint64_t(a) * b;
#endif
}

// The key of a round. The next one's has Weyl numbers added.
struct Key {
  uint32_t low, high;

  DT_MATH explicit Key(uint64_t seed) : low(uint32_t(seed)), high(uint32_t(seed >> 32)) {}
  DT_MATH void advance() {
    low += kWeyl0;
    high += kWeyl1;
  }
};

// What the rounds begin with, and a round.
DT_MATH Block counter(uint64_t low, uint64_t high) {
  return {{uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)}};
}
DT_MATH Block round_of(const Block& c, const Key& key) {
  const uint64_t p0 = wide_product(c.word[0], kMultiplier0),
                 p1 = wide_product(c.word[2], kMultiplier1);
  return {{uint32_t(p1 >> 32) ^ c.word[1] ^ key.low, uint32_t(p1),
           uint32_t(p0 >> 32) ^ c.word[3] ^ key.high, uint32_t(p0)}};
}

DT_MATH Block block(uint64_t counter_low, uint64_t counter_high, uint64_t seed) {
  Block c = counter(counter_low, counter_high);
  Key key(seed);
  for (int round = 0; round < kRounds; ++round, key.advance()) c = round_of(c, key);
  return c;
}

// ---- arithmetic that a compiler may not contract

#ifdef __CUDA_ARCH__
DT_MATH float add(float a, float b) {
  return __fadd_rn(a, b);
}
DT_MATH double add(double a, double b) {
  return __dadd_rn(a, b);
}
DT_MATH float multiply(float a, float b) {
  return __fmul_rn(a, b);
}
DT_MATH double multiply(double a, double b) {
  return __dmul_rn(a, b);
}
DT_MATH float divide(float a, float b) {
  return __fdiv_rn(a, b);
}
DT_MATH double divide(double a, double b) {
  return __ddiv_rn(a, b);
}
// Of 0, or of a number of at least 2^-100: what __fsqrt_rn does with such, without the jump that
// asks for it.
DT_MATH float root(float a) {
  float inverse;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaxf(a, 0x1p-100f)));
  const float near = __fmul_rn(a, inverse), half = __fmul_rn(inverse, 0.5f);
  return __fmaf_rn(__fmaf_rn(-near, near, a), half, near);
}
DT_MATH double root(double a) {
  return __dsqrt_rn(a);
}
// a b + c where a b needs no rounding: all is rounded once in any case.
DT_MATH float add_exact(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
DT_MATH uint32_t bits(float a) {
  return __float_as_uint(a);
}
DT_MATH uint64_t bits(double a) {
  return __double_as_longlong(a);
}
DT_MATH float number(uint32_t a) {
  return __uint_as_float(a);
}
DT_MATH double number(uint64_t a) {
  return __longlong_as_double(a);
}
#else
template <class T>
DT_MATH T add(T a, T b) {
  return a + b;
}
template <class T>
DT_MATH T multiply(T a, T b) {
  return a * b;
}
template <class T>
DT_MATH T divide(T a, T b) {
  return a / b;
}
template <class T>
DT_MATH T root(T a) {
  return math::sqrt(a);
}
DT_MATH float add_exact(float a, float b, float c) {
  return a * b + c;
}
template <class T>
DT_MATH auto bits(T a) {
  return math::to_bits(a);
}
template <class U>
DT_MATH auto number(U a) {
  return math::from_bits(a);
}
#endif

template <class T>
DT_MATH T horner(T, T c) {
  return c;
}

template <class T, class... More>
DT_MATH T horner(T x, T c, More... more) {
  return add(multiply(horner(x, more...), x), c);
}

// ---- uniform numbers in [0, 1)

// The upper 24 bits.
DT_MATH float uniform(uint32_t word) {
  return multiply(float(int32_t(word >> 8)), 0x1p-24f);
}

// 52 bits, by way of [1, 2): an integer of 64 bits has no vector conversion before AVX-512.
DT_MATH double uniform52(uint64_t word) {
  return add(number((word >> 12) | uint64_t(0x3ff0000000000000)), -1.0);
}

// The upper 53 bits.
DT_MATH double uniform(uint64_t word) {
  return add(uniform52(word), (word & 0x800) != 0 ? 0x1p-53 : 0.0);
}

// ---- normal numbers: Box and Muller's sqrt(-2 ln u) (cos v, sin v)

template <class T>
struct Pair {
  T first, second;
};

// ln u for u in (0, 1], with u = 2^k (1 + f) and 1 + f in [sqrt(1/2), sqrt(2)).
DT_MATH float log(float u) {
  const uint32_t shifted = bits(u) + (0x3f800000u - 0x3f3504f3u);
  const float k = add(float(int32_t(shifted >> 23)), -127.0f);
  const float f = add(number((shifted & 0x007fffffu) + 0x3f3504f3u), -1.0f);
  const float square = multiply(f, f);
  const float tail =
      horner(f, 0.333333105f, -0.249999866f, 0.200022265f, -0.16669254f, 0.142186597f,
             -0.123842761f, 0.118728995f, -0.117902398f, 0.0691605657f);
  const float low = add_exact(-0.5f, square, multiply(multiply(f, square), tail));
  return add(add(multiply(k, -2.12194442e-4f), low), add_exact(k, 0.693359375f, f));
}

DT_MATH double log(double u) {
  const uint64_t shifted = bits(u) + (uint64_t(0x3ff0000000000000) - uint64_t(0x3fe6a09e667f3bcd));
  // The exponent in the low bits of 2^52 + exponent.
  const double k = add(number((shifted >> 52) | uint64_t(0x4330000000000000)), -(0x1p52 + 1023.0));
  const double f =
      add(number((shifted & uint64_t(0x000fffffffffffff)) + uint64_t(0x3fe6a09e667f3bcd)), -1.0);
  const double half_square = multiply(0.5, multiply(f, f));
  const double s = divide(f, add(2.0, f)), z = multiply(s, s);
  const double tail =
      multiply(z, horner(z, 0.6666666666666666, 0.4000000000000624, 0.28571428569087104,
                         0.22222222646614137, 0.18181775680267093, 0.15387090101667714,
                         0.13250133194056607, 0.13251189623390672));
  const double low = add(multiply(s, add(half_square, tail)), multiply(k, 0x1.a39ef35793c76p-33));
  return add(multiply(k, 0x1.62e42fee00000p-1), add(add(low, -half_square), f));
}

// cos and sin of v = (quadrant + t) pi/2, |t| <= 1/2.
DT_MATH Pair<float> circle(uint32_t quadrant, float t) {
  const float v = multiply(t, 1.57079637f), z = multiply(v, v);
  const float sine =
      add(v, multiply(multiply(v, z), horner(z, -0.166666552f, 0.00833217334f, -0.000195166547f)));
  const float cosine =
      add(1.0f, add_exact(-0.5f, z,
                          multiply(multiply(z, z),
                                   horner(z, 0.0416666456f, -0.00138873619f, 2.44377425e-05f))));
  const bool odd = (quadrant & 1) != 0;
  const float x = odd ? sine : cosine, y = odd ? cosine : sine;
  return {number(bits(x) ^ (((quadrant + 1) & 2) << 30)), number(bits(y) ^ ((quadrant & 2) << 30))};
}

DT_MATH Pair<double> circle(uint64_t quadrant, double t) {
  const double v = multiply(t, 0x1.921fb54442d18p+0), z = multiply(v, v);
  const double sine =
      add(v, multiply(multiply(v, z), horner(z, -0.16666666666666632, 0.008333333333322316,
                                             -0.0001984126982972499, 2.7557313661921602e-06,
                                             -2.505075323817259e-08, 1.5896503249956407e-10)));
  const double tail =
      horner(z, 0.0416666666666666, -0.001388888888887399, 2.4801587289395014e-05,
             -2.7557314326049407e-07, 2.087571956024578e-09, -1.1359448711687689e-11);
  const double cosine = add(1.0, add(multiply(-0.5, z), multiply(multiply(z, z), tail)));
  const bool odd = (quadrant & 1) != 0;
  const double x = odd ? sine : cosine, y = odd ? cosine : sine;
  return {number(bits(x) ^ (((quadrant + 1) & 2) << 62)), number(bits(y) ^ ((quadrant & 2) << 62))};
}

// The logarithm's argument is the middle of one of 2^31 (2^52) intervals of (0, 1): never 0, and as
// small as 2^-32, so that the tails reach 6.7 (8.6) standard deviations.
DT_MATH Pair<float> normal(uint32_t a, uint32_t b) {
  const float u = add_exact(float(int32_t(a >> 1)), 0x1p-31f, 0x1p-32f);
  const float radius = root(multiply(-2.0f, log(u)));
  const Pair<float> c = circle(b >> 30, multiply(float(int32_t(b << 2)), 0x1p-32f));
  return {multiply(radius, c.first), multiply(radius, c.second)};
}

DT_MATH Pair<double> normal(uint64_t a, uint64_t b) {
  const double radius = root(multiply(-2.0, log(add(uniform52(a), 0x1p-53))));
  const Pair<double> c = circle(b >> 62, add(uniform52(b << 2), -0.5));
  return {multiply(radius, c.first), multiply(radius, c.second)};
}

// u < p for u = (word >> 8) 2^-24 is (word >> 8) < threshold(p): p 2^24, rounded up to an integer.
DT_MATH int32_t threshold(double p) {
  const double scaled = p * 0x1p24;
  const int32_t below = static_cast<int32_t>(scaled);
  return below + (below < scaled);
}

}  // namespace dt::philox
