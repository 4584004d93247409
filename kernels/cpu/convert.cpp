#include "kernels/cpu/convert.h"

#include "kernels/cpu/halves.h"

namespace dt::cpu {
namespace {

template <class To, class From>
inline void convert_run(To* y, int64_t y_stride, const From* x, int64_t x_stride, int64_t n) {
  if (x_stride == 1 && y_stride == 1) {
    if constexpr (kConvertsHalves<To, From>) return convert_halves(y, x, n);
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * y_stride] = static_cast<To>(x[i * x_stride]);
  }
}

}  // namespace

template <class To>
void load_run(To* y, const void* x, int32_t dtype, int64_t stride, int64_t n) {
  visit_any(dtype, [=](auto type) {
    using From = Stored<typename decltype(type)::type>;
    convert_run(y, 1, static_cast<const From*>(x), stride, n);
  });
}

template <class To>
void load_truth(To* y, const void* x, int32_t dtype, int64_t stride, int64_t n) {
  visit_any(dtype, [=](auto type) {
    const auto* from = static_cast<const Stored<typename decltype(type)::type>*>(x);
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(static_cast<bool>(from[i * stride]));
  });
}

template <class From>
void store_run(void* y, int32_t dtype, int64_t stride, const From* x, int64_t n) {
  visit_any(dtype, [=](auto type) {
    using To = typename decltype(type)::type;
    auto* to = static_cast<Stored<To>*>(y);
    if constexpr (kIsBool<To>) {
      for (int64_t i = 0; i < n; ++i) to[i * stride] = x[i] != From(0);
    } else {
      convert_run(to, stride, x, 1, n);
    }
  });
}

// What the kernels ask for.
#define DT_RUNS(T)                                                         \
  template void load_run<T>(T*, const void*, int32_t, int64_t, int64_t);   \
  template void load_truth<T>(T*, const void*, int32_t, int64_t, int64_t); \
  template void store_run<T>(void*, int32_t, int64_t, const T*, int64_t);
DT_RUNS(int32_t)
DT_RUNS(int64_t)
DT_RUNS(uint64_t)
DT_RUNS(float)
DT_RUNS(double)
#undef DT_RUNS
template void load_truth<uint8_t>(uint8_t*, const void*, int32_t, int64_t, int64_t);

}  // namespace dt::cpu
