// The functions of kernels/math.h against the C library in the next wider type, in units in the
// last place: a sweep over all exponents and signs, plus the exceptional arguments. Compiled once
// per instruction set.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/kernels/kernel_table.h"
#include "kernels/math_elementwise.h"

namespace {

namespace math = dt::math;

int failures = 0;

void check(bool ok, const char* what, double a, double b, double got, double want) {
  if (ok) return;
  if (++failures <= 20) std::printf("FAIL %s(%a, %a): got %a, want %a\n", what, a, b, got, want);
}

// Distance between two numbers in steps of representable ones of T; equal infinities and NaNs are 0
// apart.
template <class T, class Wide>
double ulps(T got, Wide want) {
  const T nearest = static_cast<T>(want);
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : INFINITY;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  const int lowest = std::numeric_limits<T>::min_exponent;
  const int digits = std::numeric_limits<T>::digits;
  const Wide unit = std::ldexp(Wide(1), (exponent > lowest ? exponent : lowest) - digits);
  return static_cast<double>(std::fabs(Wide(got) - want) / unit);
}

// Numbers spread over all bit patterns of T, and a dense sweep of [-range, range].
template <class T>
std::vector<T> arguments(double range, int count) {
  std::vector<T> x = {T(0),
                      -T(0),
                      T(1),
                      T(-1),
                      std::numeric_limits<T>::infinity(),
                      -std::numeric_limits<T>::infinity(),
                      std::numeric_limits<T>::quiet_NaN(),
                      std::numeric_limits<T>::denorm_min(),
                      -std::numeric_limits<T>::denorm_min(),
                      std::numeric_limits<T>::min(),
                      std::numeric_limits<T>::max(),
                      std::numeric_limits<T>::lowest()};
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    T v;
    std::memcpy(&v, &state, sizeof(v));
    x.push_back(v);
    x.push_back(static_cast<T>((2.0 * i / count - 1.0) * range *
                               (1.0 + 1e-9 * static_cast<double>(state >> 40))));
  }
  return x;
}

template <class T, class Got, class Want>
void unary(const char* name, double range, double limit, Got got, Want want, int count = 400000) {
  const std::vector<T> x = arguments<T>(range, count);
  std::vector<T> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = got(x[i]);
  double worst = 0, at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], want(x[i]));
    if (error > worst || std::isnan(error)) worst = error, at = x[i];
    check(error <= limit, name, x[i], 0, y[i], static_cast<double>(want(x[i])));
  }
  std::printf("%-8s %-6s %.3f ulp at %a\n", name, sizeof(T) == 4 ? "float" : "double", worst, at);
}

template <class T, class Got, class Want>
void binary(const char* name, double limit, Got got, Want want) {
  const std::vector<T> special = arguments<T>(30, 40), base = arguments<T>(3, 60000);
  std::vector<T> a, b;
  for (T x : special) {
    for (T y : special) a.push_back(x), b.push_back(y);
  }
  for (size_t i = 0; i < base.size(); ++i) {
    a.push_back(i % 4 ? std::fabs(base[i]) : base[i]);
    b.push_back(static_cast<T>(base[base.size() - 1 - i] * (i % 8 < 4 ? 1 : 40)));
  }
  std::vector<T> y(a.size());
  for (size_t i = 0; i < a.size(); ++i) y[i] = got(a[i], b[i]);
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto expected = want(a[i], b[i]);
    const double error = ulps(y[i], expected);
    worst = error > worst ? error : worst;
    check(error <= limit, name, a[i], b[i], y[i], static_cast<double>(expected));
  }
  std::printf("%-8s %-6s %.3f ulp\n", name, sizeof(T) == 4 ? "float" : "double", worst);
}

// W: the wider type that the reference is computed in.
template <class T, class W>
void test_type() {
  unary<T>(
      "exp", 110, 2, [](T x) { return math::exp(x); }, [](W x) { return std::exp(x); });
  unary<T>(
      "expm1", 60, 2, [](T x) { return math::expm1(x); }, [](W x) { return std::expm1(x); });
  unary<T>(
      "log", 3, 2, [](T x) { return math::log(x); }, [](W x) { return std::log(x); });
  unary<T>(
      "log1p", 3, 2, [](T x) { return math::log1p(x); }, [](W x) { return std::log1p(x); });
  unary<T>(
      "sin", 1e5, 2,
      [](T x) { return std::fabs(x) <= 1048576 ? math::sin(x) : math::exact_sin(x); },
      [](W x) { return std::sin(x); });
  unary<T>(
      "cos", 1e5, 2,
      [](T x) { return std::fabs(x) <= 1048576 ? math::cos(x) : math::exact_cos(x); },
      [](W x) { return std::cos(x); });
  unary<T>(
      "tanh", 12, 2, [](T x) { return math::tanh(x); }, [](W x) { return std::tanh(x); });
  unary<T>(
      "sigmoid", 110, 2, [](T x) { return math::sigmoid(x); },
      [](W x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); });
  unary<T>(
      "logsigmoid", 80, 2, [](T x) { return math::logsigmoid(x); },
      [](W x) { return (x < 0 ? x : 0) - std::log1p(std::exp(-std::fabs(x))); });
  unary<T>(
      "erf", 6, 2, [](T x) { return math::erf(x); }, [](W x) { return std::erf(x); });
  unary<T>(
      "erfc", 11, sizeof(T) == 4 ? 1 : 6, [](T x) { return math::erfc(x); },
      [](W x) { return std::erfc(x); });
  unary<T>(
      "tan", 1e5, 2,
      [](T x) { return std::fabs(x) <= 1048576 ? math::tan(x) : math::exact_tan(x); },
      [](W x) { return std::tan(x); });
  unary<T>(
      "asin", 1.1, 2, [](T x) { return math::asin(x); }, [](W x) { return std::asin(x); });
  unary<T>(
      "acos", 1.1, 2, [](T x) { return math::acos(x); }, [](W x) { return std::acos(x); });
  unary<T>(
      "atan", 9, 2, [](T x) { return math::atan(x); }, [](W x) { return std::atan(x); });
  unary<T>(
      "sinh", 9, 2, [](T x) { return math::sinh(x); }, [](W x) { return std::sinh(x); });
  unary<T>(
      "cosh", 9, 2, [](T x) { return math::cosh(x); }, [](W x) { return std::cosh(x); });
  unary<T>(
      "asinh", 9, 2, [](T x) { return math::asinh(x); }, [](W x) { return std::asinh(x); });
  unary<T>(
      "acosh", 9, 2, [](T x) { return math::acosh(x); }, [](W x) { return std::acosh(x); });
  unary<T>(
      "atanh", 1.1, 2, [](T x) { return math::atanh(x); }, [](W x) { return std::atanh(x); });
  unary<T>(
      "exp2", 150, 2, [](T x) { return math::exp2(x); }, [](W x) { return std::exp2(x); });
  unary<T>(
      "log2", 3, 2, [](T x) { return math::log2(x); }, [](W x) { return std::log2(x); });
  unary<T>(
      "log10", 3, 2, [](T x) { return math::log10(x); }, [](W x) { return std::log10(x); });
  unary<T>(
      "sqrt", 9, 0.5, [](T x) { return math::sqrt(x); }, [](W x) { return std::sqrt(x); });
  unary<T>(
      "rsqrt", 9, 2, [](T x) { return math::rsqrt(x); }, [](W x) { return 1 / std::sqrt(x); });
  unary<T>(
      "round", 9, 0, [](T x) { return math::round(x); }, [](W x) { return std::nearbyint(x); },
      20000);
  unary<T>(
      "floor", 9, 0, [](T x) { return math::floor(x); }, [](W x) { return std::floor(x); }, 20000);
  binary<T>(
      "pow", 2, [](T x, T y) { return math::pow(x, y); }, [](W x, W y) { return std::pow(x, y); });
  binary<T>(
      "fmod", 0,
      [](T x, T y) {
        const T fast = math::fmod(x, y);
        return std::isnan(fast) ? math::exact_fmod(x, y) : fast;
      },
      [](W x, W y) { return std::fmod(x, y); });
  binary<T>(
      "atan2", 2, [](T y, T x) { return math::atan2(y, x); },
      [](W y, W x) { return std::atan2(y, x); });
  binary<T>(
      "hypot", 2, [](T x, T y) { return math::hypot(x, y); },
      [](W x, W y) { return std::hypot(x, y); });
}

// The multiples of pi/2 that come closest to a number of the type, and a few huge arguments.
void test_trig_reduction() {
  const double hard[] = {0x1.921fb54442d18p+0,
                         0x1.921fb54442d18p+19,
                         0x1.6ac5b262ca1ffp+849,
                         1e22,
                         0x1.fffffffffffffp+1023,
                         0x1.0p+21,
                         411775.0,
                         1048575.9999};
  for (double x : hard) {
    check(ulps(math::exact_sin(x), std::sin(static_cast<long double>(x))) <= 1, "exact_sin", x, 0,
          math::exact_sin(x), std::sin(x));
    check(ulps(math::exact_cos(x), std::cos(static_cast<long double>(x))) <= 1, "exact_cos", x, 0,
          math::exact_cos(x), std::cos(x));
  }
  check(std::isnan(math::sin(1e7f)) && std::isnan(math::cos(1e7)), "fast sin marks huge arguments",
        1e7, 0, 0, 0);
}

// Of float alone, whose reference is C's of double. Between the zeros at 1 and 2, and beside those
// of negative numbers, what is left is small beside the terms.
void test_lgamma() {
  unary<float>(
      "lgamma", 30, 2, [](float x) { return math::lgamma(x); },
      [](double x) { return std::lgamma(x); });
  for (float x : {1.0f, 2.0f}) check(math::lgamma(x) == 0, "lgamma", x, 0, math::lgamma(x), 0);
}

// What GPUs have for floats above 0, against the double functions, which the C library has not.
// Between 3 and 6 digamma is the difference of terms twice as large.
void test_derivatives_above_zero() {
  unary<float>(
      "digamma_above_zero", 30, 6,
      [](float x) { return x > 0 ? math::digamma_above_zero(x) : 0.0f; },
      [](double x) { return x > 0 ? math::digamma(x) : 0.0; });
  unary<float>(
      "trigamma_above_zero", 30, 4,
      [](float x) { return x > 0 ? math::trigamma_above_zero(x) : 0.0f; },
      [](double x) { return x > 0 ? math::zeta(2.0, x) : 0.0; });
}

// Every size of quotient and divisor, and multiples of divisors with what lies beside them.
template <class T>
std::vector<T> integers() {
  std::vector<T> x;
  const T largest = std::numeric_limits<T>::max();
  for (T size = 1; size > 0; size = size > largest / 2 ? T(0) : T(2 * size)) {
    for (T near = -2; near <= 2; ++near) {
      for (T v : {size, T(-size), T(size / 3 * 2), T(largest / size)}) {
        __builtin_add_overflow(v, near, &v);  // wraps around
        x.push_back(v);
      }
    }
  }
  x.push_back(std::numeric_limits<T>::lowest());
  x.push_back(largest);
  return x;
}

template <class T>
void test_integer_division() {
  std::vector<T> a = integers<T>();
  const std::vector<T> b = a;
  for (T x : b) {
    for (T y : b) {
      T product = 0;
      if (!__builtin_mul_overflow(x, y, &product)) a.push_back(product);
    }
  }
  for (T x : a) {
    for (T y : b) {
      if (y == 0 || y == -1) continue;
      const T quotient = x / y, rest = x % y;
      const bool below = rest != 0 && (rest < 0) != (y < 0);
      const auto report = [&](bool ok, const char* what) {
        check(ok, what, double(x), double(y), 0, double(quotient));
      };
      report(math::div_trunc(x, y) == quotient, "div_trunc");
      report(math::div_floor(x, y) == quotient - below, "div_floor");
      report(math::modulo(x, y) == (below ? rest + y : rest), "modulo");
    }
  }
}

struct Kernel {
  const char* name;
  double range;
  double limit;
  double (*of_float)(double);
  long double (*of_double)(long double);

  double want(float x) const { return of_float(x); }
  long double want(double x) const { return of_double(x); }
};

#define KERNEL(name, range, limit) \
  { #name, range, limit, std::name, std::name }
const Kernel kKernels[] = {
    KERNEL(exp, 110, 2),
    KERNEL(exp2, 150, 2),
    KERNEL(log, 3, 2),
    KERNEL(log2, 3, 2),
    KERNEL(log10, 3, 2),
    KERNEL(log1p, 3, 2),
    KERNEL(sin, 1e5, 2),
    KERNEL(cos, 1e5, 2),
    KERNEL(tan, 1e5, 2),
    KERNEL(acos, 1.1, 2),
    KERNEL(tanh, 12, 2),
    KERNEL(erf, 6, 2),
    KERNEL(erfc, 11, 6),
    KERNEL(sqrt, 9, 0.5),
    {"sigmoid", 110, 2, [](double x) { return 1 / (1 + std::exp(-x)); },
     [](long double x) { return 1 / (1 + std::exp(-x)); }},
};
#undef KERNEL

template <class T>
void run_kernel(const KernelTable& table, const char* name, const T* x, T* y, size_t n) {
  const auto serial = [](int64_t tiles, int64_t, void (*body)(void*, int64_t, int64_t),
                         void* context) {
    for (int64_t t = 0; t < tiles; ++t) body(context, t, 0);
  };
  dt_fault fault = {};
  const dt_stream stream = {serial, 1, 0, &fault, nullptr, 0};
  const int32_t dtype = sizeof(T) == 4 ? DT_FLOAT32 : DT_FLOAT64;
  dt_view in = {}, out = {};
  in.dtype = out.dtype = dtype;
  in.ndim = out.ndim = 1;
  in.sizes[0] = out.sizes[0] = static_cast<int64_t>(n);
  in.strides[0] = out.strides[0] = 1;
  in.data = const_cast<T*>(x);
  out.data = y;
  const int64_t compute = dtype;
  const dt_call call = {name, 1, 1, 1, 0, &out, &in, &compute, nullptr, nullptr};
  check(table.run(stream, call) == DT_KERNEL_OK, name, 0, 0, 0, 0);
}

// The kernels of one instruction set: the same text as above, compiled with what it offers, or its
// own functions of vectors. An element has the same bits wherever in a tensor it lies.
template <class T>
void test_kernels(const KernelTable& table) {
  for (const Kernel& kernel : kKernels) {
    std::vector<T> x = arguments<T>(kernel.range, 50000), y(x.size()), part(x.size());
    run_kernel(table, kernel.name, x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const auto want = kernel.want(x[i]);
      check(ulps(y[i], want) <= kernel.limit, kernel.name, x[i], 0, y[i],
            static_cast<double>(want));
      const bool is_zero = y[i] == 0 && want == 0;
      check(!is_zero || std::signbit(y[i]) == std::signbit(want), kernel.name, x[i], 0, y[i],
            static_cast<double>(want));
    }
    for (size_t n = 1; n < 40; ++n) {
      run_kernel(table, kernel.name, x.data() + n, part.data(), n);
      check(std::memcmp(part.data(), y.data() + n, n * sizeof(T)) == 0, kernel.name, x[n],
            static_cast<double>(n), part[0], y[n]);
    }
  }
}

// Powers of the base have whole logarithms, and whole numbers exact powers of 2.
template <class T>
void test_whole_powers(const KernelTable& table) {
  std::vector<T> power, k, y;
  const auto matches = [&](const char* name, const std::vector<T>& in, const std::vector<T>& want) {
    y.resize(in.size());
    run_kernel(table, name, in.data(), y.data(), in.size());
    for (size_t i = 0; i < in.size(); ++i) check(y[i] == want[i], name, in[i], 0, y[i], want[i]);
  };
  const int digits = std::numeric_limits<T>::digits;
  for (int e = std::numeric_limits<T>::min_exponent - digits;
       e < std::numeric_limits<T>::max_exponent; ++e) {
    power.push_back(std::ldexp(T(1), e));
    k.push_back(static_cast<T>(e));
  }
  matches("log2", power, k);
  matches("exp2", k, power);
  power.clear(), k.clear();
  for (T p = 1, e = 0; p < T(sizeof(T) == 4 ? 1e11 : 1e23); p *= 10, ++e)
    power.push_back(p), k.push_back(e);
  matches("log10", power, k);
}

void test_choices() {
  const float nan = NAN;
  check(std::isnan(math::maximum(nan, 1.0f)) && std::isnan(math::maximum(1.0f, nan)), "maximum",
        nan, 1, 0, 0);
  check(std::isnan(math::minimum(nan, 1.0f)) && std::isnan(math::minimum(1.0f, nan)), "minimum",
        nan, 1, 0, 0);
  check(math::sign(nan) == 0 && math::sign(-2.0f) == -1 && math::sign(3) == 1, "sign", 0, 0, 0, 0);
  const int32_t least = INT32_MIN;
  check(math::div_trunc(least, -1) == least && math::div_trunc(7, 0) == 0, "div_trunc", 7, 0, 0, 0);
  check(math::div_floor(-7, 2) == -4 && math::modulo(-7, 2) == 1 && math::modulo(7, -3) == -2,
        "div_floor", -7, 2, 0, 0);
  check(math::div_floor(least, -1) == least && math::modulo(least, -1) == 0, "div_floor", least, -1,
        0, 0);
  check(math::div_floor(7, 0) == 0 && math::modulo(7, 0) == 0, "div_floor", 7, 0, 0, 0);
  check(math::pow(int64_t(3), int64_t(5)) == 243 && math::pow(int64_t(2), int64_t(-1)) == 0, "pow",
        3, 5, 0, 0);
  check(math::fmod(-7, 2) == -1 && math::fmod(least, -1) == 0, "fmod", -7, 2, 0, 0);
  check(math::gcd(-12, 18) == 6 && math::gcd(0, 0) == 0, "gcd", -12, 18, 0, 0);
  check(math::lcm(-4, 6) == 12 && math::lcm(0, 0) == 0, "lcm", -4, 6, 0, 0);
  check(math::signbit(-0.0) && !math::signbit(0.0f) && math::signbit(-1), "signbit", -0.0, 0, 0, 0);
  check(math::modulo(-1.0, 3.0) == 2.0 && math::div_floor(-1.0, 3.0) == -1.0, "modulo", -1, 3, 0,
        0);
  check(math::isfinite(1.0f) && !math::isfinite(nan) && math::isinf(-INFINITY), "isfinite", 0, 0, 0,
        0);
}

}  // namespace

int main() {
  test_type<float, double>();
  test_type<double, long double>();
  test_trig_reduction();
  test_lgamma();
  test_derivatives_above_zero();
  test_integer_division<int32_t>();
  test_integer_division<int64_t>();
  test_choices();
  for (const KernelTable& table : kernel_tables()) {
    test_kernels<float>(table);
    test_kernels<double>(table);
    test_whole_powers<float>(table);
    test_whole_powers<double>(table);
    std::printf("kernels of %s\n", table.isa.c_str());
  }
  std::printf(failures == 0 ? "math: ok\n" : "math: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
