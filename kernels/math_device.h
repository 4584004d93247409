// math.h on a GPU: CUDA's own functions under one name per function.
#pragma once

#ifdef __CUDACC_RTC__
// NVRTC has no headers.
namespace dt {
using int32_t = int;
using int64_t = long long;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
}  // namespace dt
#else
#include <stdint.h>
#endif

namespace dt::math {

constexpr double kInfinity = __builtin_huge_val();
constexpr double kNaN = __builtin_nan("");
constexpr double kPi = 0x1.921fb54442d18p+1;

#define DT_UNARY(name, single, precise) \
  DT_MATH float name(float x) {         \
    return single(x);                   \
  }                                     \
  DT_MATH double name(double x) {       \
    return precise(x);                  \
  }
#define DT_BINARY(name, single, precise)    \
  DT_MATH float name(float a, float b) {    \
    return single(a, b);                    \
  }                                         \
  DT_MATH double name(double a, double b) { \
    return precise(a, b);                   \
  }

DT_UNARY(abs, ::fabsf, ::fabs)
DT_UNARY(floor, ::floorf, ::floor)
DT_UNARY(ceil, ::ceilf, ::ceil)
DT_UNARY(trunc, ::truncf, ::trunc)
DT_UNARY(round, ::rintf, ::rint)
DT_UNARY(sqrt, ::sqrtf, ::sqrt)
DT_UNARY(rsqrt, ::rsqrtf, ::rsqrt)
DT_UNARY(exp, ::expf, ::exp)
DT_UNARY(expm1, ::expm1f, ::expm1)
DT_UNARY(log, ::logf, ::log)
DT_UNARY(log1p, ::log1pf, ::log1p)
DT_UNARY(sin, ::sinf, ::sin)
DT_UNARY(cos, ::cosf, ::cos)
DT_UNARY(tanh, ::tanhf, ::tanh)
DT_UNARY(tan, ::tanf, ::tan)
DT_UNARY(asin, ::asinf, ::asin)
DT_UNARY(acos, ::acosf, ::acos)
DT_UNARY(atan, ::atanf, ::atan)
DT_UNARY(sinh, ::sinhf, ::sinh)
DT_UNARY(cosh, ::coshf, ::cosh)
DT_UNARY(asinh, ::asinhf, ::asinh)
DT_UNARY(acosh, ::acoshf, ::acosh)
DT_UNARY(atanh, ::atanhf, ::atanh)
DT_UNARY(exp2, ::exp2f, ::exp2)
DT_UNARY(log2, ::log2f, ::log2)
DT_UNARY(log10, ::log10f, ::log10)
DT_UNARY(erf, ::erff, ::erf)
DT_BINARY(pow, ::powf, ::pow)
DT_BINARY(fmod, ::fmodf, ::fmod)
DT_BINARY(atan2, ::atan2f, ::atan2)
DT_BINARY(copysign, ::copysignf, ::copysign)

#undef DT_UNARY
#undef DT_BINARY

DT_MATH float fma(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
DT_MATH double fma(double a, double b, double c) {
  return ::fma(a, b, c);
}

// A truth value that is the same for all elements of a loop.
template <class T>
class Uniform {
 public:
  DT_FN explicit Uniform(bool value) : value_(value) {}
  DT_FN T choose(T a, T b) const { return value_ ? a : b; }

 private:
  bool value_;
};

// exp(-|x|) cannot overflow, and both tails keep their digits.
template <class T>
DT_MATH T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

}  // namespace dt::math
