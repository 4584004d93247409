// Reading and writing runs of elements of any dtype as values of one arithmetic type.
#pragma once

#include "kernels/cpu/common.h"

namespace dt::cpu {
namespace {

template <class To, class From>
inline void convert_run(To* y, int64_t y_stride, const From* x, int64_t x_stride, int64_t n) {
  if (x_stride == 1 && y_stride == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * y_stride] = static_cast<To>(x[i * x_stride]);
  }
}

// y[i] = x[i * stride], where x points to elements of `dtype`.
template <class To>
inline void load_run(To* y, const void* x, int32_t dtype, int64_t stride, int64_t n) {
  visit_any(dtype, [=](auto type) {
    using From = Stored<typename decltype(type)::type>;
    convert_run(y, 1, static_cast<const From*>(x), stride, n);
  });
}

// y[i] = whether x[i * stride] is nonzero.
template <class To>
inline void load_truth(To* y, const void* x, int32_t dtype, int64_t stride, int64_t n) {
  visit_any(dtype, [=](auto type) {
    const auto* from = static_cast<const Stored<typename decltype(type)::type>*>(x);
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(static_cast<bool>(from[i * stride]));
  });
}

// y[i * stride] = x[i], where y points to elements of `dtype`.
template <class From>
inline void store_run(void* y, int32_t dtype, int64_t stride, const From* x, int64_t n) {
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

}  // namespace
}  // namespace dt::cpu
