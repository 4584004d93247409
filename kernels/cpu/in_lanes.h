// The elementwise ops that have functions of whole vectors: those of AVX-512, see lane_math.h, and
// divisions of int64_t with AVX2.
#pragma once

#include "kernels/cpu/lane_divide.h"
#include "kernels/cpu/lane_erf.h"
#include "kernels/cpu/lane_float.h"
#include "kernels/cpu/lane_trig.h"
#include "kernels/math_elementwise.h"

namespace dt::fn {

struct acos;
struct cos;
struct div_floor;
struct div_trunc;
struct erf;
struct erfc;
struct erfinv;
struct exp;
struct exp2;
struct gelu_erf;
struct log;
struct log10;
struct log2;
struct modulo;
struct modulo_trunc;
struct sin;
struct tan;
struct tanh;

}  // namespace dt::fn

namespace dt::cpu {
namespace {

// Of an elementwise op: whether it has such a function, and the function. It stands
// for the formula of the op's row, which other processors and CUDA compute; kernels/math_test
// compares both.
template <class F, class T>
struct InLanes {
  static constexpr bool value = false;
};

#if defined(__AVX512F__)

#define DT_IN_LANES(name, T, function)                      \
  template <>                                               \
  struct InLanes<fn::name, T> {                             \
    static constexpr bool value = true;                     \
    static Vector<T> y(Vector<T> x) { return function(x); } \
  };
DT_IN_LANES(exp, float, lane_exp<float>)
DT_IN_LANES(exp, double, lane_exp<double>)
DT_IN_LANES(exp2, double, lane_exp2<double>)
DT_IN_LANES(exp2, float, lane_exp2<float>)
DT_IN_LANES(log, float, lane_log<float>)
DT_IN_LANES(log, double, lane_log<double>)
DT_IN_LANES(log2, float, lane_log2<float>)
DT_IN_LANES(log2, double, lane_log2<double>)
DT_IN_LANES(log10, float, lane_log10<float>)
DT_IN_LANES(log10, double, lane_log10<double>)
DT_IN_LANES(acos, double, lane_acos)
DT_IN_LANES(sin, double, lane_sin)
DT_IN_LANES(cos, double, lane_cos)
DT_IN_LANES(tan, double, lane_tan)
DT_IN_LANES(tan, float, lane_tan)
DT_IN_LANES(tanh, float, lane_tanh)
DT_IN_LANES(erf, double, lane_erf)
DT_IN_LANES(gelu_erf, float, lane_gelu)
DT_IN_LANES(erfc, float, lane_erfc)
DT_IN_LANES(erfc, double, lane_erfc)
DT_IN_LANES(erfinv, float, lane_erfinv)
DT_IN_LANES(erfinv, double, lane_erfinv)
#undef DT_IN_LANES

#elif defined(__AVX2__)

#define DT_DIVIDE_IN_LANES(name, floor, rest, function)                             \
  template <>                                                                       \
  struct InLanes<fn::name, int64_t> {                                               \
    static constexpr bool value = true;                                             \
    static Vector<int64_t> y(Vector<int64_t> a, Vector<int64_t> b) {                \
      return lane_divide<floor, rest>(                                              \
          a, b, [](int64_t each, int64_t by) { return math::function(each, by); }); \
    }                                                                               \
  };
DT_DIVIDE_IN_LANES(div_floor, true, false, div_floor)
DT_DIVIDE_IN_LANES(div_trunc, false, false, div_trunc)
DT_DIVIDE_IN_LANES(modulo, true, true, modulo)
DT_DIVIDE_IN_LANES(modulo_trunc, false, true, fmod)
#undef DT_DIVIDE_IN_LANES
#endif

}  // namespace
}  // namespace dt::cpu
