// Modified Bessel functions of the first kind on a CPU, without the loops of math_special.h:
// I_order(x) for order 0 or 1, times exp(-|x|) if scaled. Near 0 a polynomial in z = x^2, which
// like the power series has positive terms; far from it, the function is exp(|x|) / sqrt(|x|) times
// a polynomial in t, which is 1 where the far ones begin and -1 at infinity. Coefficients are as in
// math_host.h.
#pragma once

namespace dt::math {

// Of double, |x| <= 10 and t = 20 / |x| - 1: I_0(x) and I_1(x) / |x|, error 2^-56 and 2^-53; the
// far ones, 2^-54.
DT_MATH double bessel_i0_near(double z) {
  return polynomial(z, 1.0, 0.24999999999999994, 0.015625000000000114, 0.00043402777777770175,
                    6.78168402780178e-06, 6.781684027348356e-08, 4.709502801879954e-10,
                    2.4028075135504702e-12, 9.38596886043633e-15, 2.89689644672131e-17,
                    7.242445743824368e-20, 1.4959654144273784e-22, 2.6030997467908617e-25,
                    3.7883137606770787e-28, 5.292824654850347e-31, 3.6172163810594773e-34,
                    1.017420885790699e-36);
}
DT_MATH double bessel_i1_near(double z) {
  return polynomial(
      z, 0.49999999999999994, 0.06250000000000036, 0.002604166666666236, 5.425347222242171e-05,
      6.781684027307018e-07, 5.651403363002406e-09, 3.3639305116335986e-11, 1.5017550627072776e-13,
      5.214411764140973e-16, 1.4484943184850796e-18, 3.291022627118063e-21, 6.2488200051737196e-24,
      9.836787474234011e-27, 1.4897346510390587e-29, 1.057802094418791e-32, 3.2986814023719056e-35);
}
DT_MATH double bessel_i0_far(double t) {
  return polynomial(t, 0.4015097608312065, 0.0026458859671862076, 8.311327263983816e-05,
                    5.152033951064909e-06, 5.04125671173672e-07, 7.078400632570056e-08,
                    1.3636180417787776e-08, 3.5594441340271746e-09, 1.2739453684932371e-09,
                    6.336888268233889e-10, 3.9453567994891886e-10, 1.512731282582771e-10,
                    -1.5503622592378812e-10, -2.4203154759832723e-10, -3.516847767286484e-11,
                    1.0140702208757276e-10, 3.137931090789355e-11, -2.4025833281882488e-11,
                    -6.295965769128152e-12, 2.7256055800404893e-12);
}
DT_MATH double bessel_i1_far(double t) {
  return polynomial(t, 0.39133972251206706, -0.007730905126755939, -0.0001348014663405396,
                    -7.012361313474726e-06, -6.294295558713904e-07, -8.389642872215647e-08,
                    -1.559922052873431e-08, -3.965027469805589e-09, -1.3891860161020978e-09,
                    -6.794233763321052e-10, -4.196146080668603e-10, -1.6494660569582354e-10,
                    1.5573332570519775e-10, 2.525432603261741e-10, 4.118429473767592e-11,
                    -1.0376408175661697e-10, -3.397997269274381e-11, 2.420121144418184e-11,
                    6.719049203302253e-12, -2.711298017716593e-12);
}

// The result is `value` times exp(exponent) twice, since exp(|x|) may overflow where it does not.
struct BesselFactor {
  double value, exponent;
};

DT_MATH BesselFactor bessel_i_parts(double a, bool far, double near_value, double far_value,
                                    double scaled) {
  return {far ? far_value / sqrt(a) : near_value, a * ((far ? 0.5 : 0.0) - 0.5 * scaled)};
}

template <class T>
DT_MATH T bessel_i_edges(T x, T order, T scaled, T y) {
  const T at_infinity = scaled != T(0) ? T(0) : T(kInfinity);
  const T value = abs(x) == T(kInfinity) ? at_infinity : y;
  return order != T(0) ? copysign(value, x) : value;
}

DT_MATH double bessel_i(double x, double order, double scaled) {
  const double a = abs(x), z = x * x, t = 20.0 / a - 1.0;
  const bool first = order != 0.0;
  const BesselFactor y =
      bessel_i_parts(a, a > 10.0, first ? a * bessel_i1_near(z) : bessel_i0_near(z),
                     first ? bessel_i1_far(t) : bessel_i0_far(t), scaled);
  const double power = exp(y.exponent);
  return bessel_i_edges(x, order, scaled, y.value * power * power);
}

// Of float, in double: |x| <= 8 and t = 16 / |x| - 1, error 2^-29 to 2^-26.
DT_MATH double short_bessel_i0_near(double z) {
  return polynomial(z, 1.0000000002730844, 0.2499999980136104, 0.01562500211795403,
                    0.00043402697595345055, 6.781828568888714e-06, 6.780252183762825e-08,
                    4.717919418778624e-10, 2.3723587531577397e-12, 1.0065984979680477e-14,
                    1.994477468177541e-17, 1.3554929965892286e-19);
}
DT_MATH double short_bessel_i1_near(double z) {
  return polynomial(z, 0.4999999989991801, 0.06250000508479961, 0.002604162761158603,
                    5.425455737332392e-05, 6.780236729009323e-07, 5.661986375190659e-09,
                    3.318673620708849e-11, 1.617101757257091e-13, 3.511557055244488e-16,
                    2.747666167493214e-18);
}
DT_MATH double short_bessel_i0_far(double t) {
  return polynomial(t, 0.40217651281480177, 0.0033605555577096674, 0.0001361560372173406,
                    1.1112718233221232e-05, 1.6391297172079068e-06, 3.6221099344282783e-07);
}
DT_MATH double short_bessel_i1_far(double t) {
  return polynomial(t, 0.38939845522378846, -0.00974958185340799, -0.0002191680845999082,
                    -1.5002033143924374e-05, -2.009792929280595e-06, -4.225809532302268e-07);
}

DT_MATH float bessel_i(float x, float order, float scaled) {
  const double a = double(abs(x)), z = a * a, t = 16.0 / a - 1.0;
  const bool first = order != 0.0f;
  const BesselFactor y =
      bessel_i_parts(a, a > 8.0, first ? a * short_bessel_i1_near(z) : short_bessel_i0_near(z),
                     first ? short_bessel_i1_far(t) : short_bessel_i0_far(t), double(scaled));
  const double power = short_exp(at_most(100.0, y.exponent));
  return bessel_i_edges(x, order, scaled, float(y.value * power * power));
}

}  // namespace dt::math
