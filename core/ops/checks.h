// Words and checks that several families of ops share.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/autograd/saved.h"
#include "core/ops/copy.h"
#include "core/ops/views.gen.h"
#include "core/runtime/context.h"
#include "core/tensor/layout.h"

namespace dt {

inline void check_floating(const Tensor& x, const char* kernel) {
  DT_CHECK(is_floating(x.dtype()), kNotImplemented, "\"", kernel, "\" not implemented for '",
           type_word(x.dtype()), "'");
}

// Of a result that PyTorch writes into a tensor of this dtype.
inline void check_output_dtype(DType dtype) {
  DT_CHECK(is_floating(dtype), kRuntimeError,
           "result type Float can't be cast to the desired output type ", type_word(dtype));
}

// A function that has no derivative by an argument refuses one that requires grad.
inline void check_constant(const Tensor& x, const char* function, const char* argument) {
  DT_CHECK(!x.defined() || !grad_enabled() || !x.requires_grad(), kRuntimeError, "The function '",
           function, "' is not differentiable with respect to argument '", argument,
           "'. This input cannot have requires_grad True.");
}

// Whether a tensor of this dtype can hold the number, cut to an integer or rounded to a float where
// need be. Negative integers wrap around in unsigned types, as in C.
inline bool fits(const Scalar& number, DType t) {
  return visit(t, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (kIsBool<T>) {
      return true;
    } else if constexpr (kIsFloating<T>) {
      const double v = number.to_double();
      return !std::isfinite(v) || std::abs(v) <= static_cast<double>(std::numeric_limits<T>::max());
    } else if (number.is_floating()) {
      const double v = number.to_double();
      const auto max = static_cast<double>(std::numeric_limits<T>::max());
      return v >= static_cast<double>(std::numeric_limits<T>::lowest()) && v <= max && v < max + 1;
    } else {
      if (number.is_beyond_int64()) return false;
      const int64_t v = number.to_int64();
      const int64_t lowest = std::is_signed_v<T> ? int64_t{std::numeric_limits<T>::lowest()}
                                                 : -int64_t{std::numeric_limits<T>::max()};
      return v >= lowest && v <= int64_t{std::numeric_limits<T>::max()};
    }
  });
}

inline void check_fits(const Scalar& number, DType t) {
  DT_CHECK(fits(number, t), kRuntimeError, "value cannot be converted to type ", info(t).c10,
           " without overflow");
}

inline void check_named_once(bool named_before, int dim) {
  DT_CHECK(!named_before, kRuntimeError, "dim ", dim,
           " appears multiple times in the list of dims");
}

// Of what is written in place.
inline void check_written_sizes(const Dims& written, const Dims& broadcast) {
  DT_CHECK(broadcast == written, kRuntimeError, "output with shape ", written,
           " doesn't match the broadcast shape ", broadcast);
}

inline void check_overlap(bool overlaps) {
  DT_CHECK(
      !overlaps, kRuntimeError,
      "unsupported operation: some elements of the input tensor and the written-to tensor refer "
      "to a single memory location. Please clone() the tensor before performing the operation.");
}

// Of ops that write at positions which tensors name: neither these nor the values may lie in what
// is written.
inline void check_apart(const Tensor& written, const Tensor& read) {
  const Overlap overlap = overlap_of(written, read);
  check_overlap(overlap == Overlap::kSome || overlap == Overlap::kSame);
}

inline Tensor at_least_1d(const Tensor& x) {
  return x.ndim() == 0 ? reshape(x, {1}) : x;
}

// Whether a 4-d tensor's strides are in the order N, H, W, C, also when it shows only a part of
// such a tensor. As in PyTorch the strides of dimensions of size 1 have a say, so that an image of
// one channel can be either; one that could be both counts as contiguous.
inline bool is_channels_last(const Tensor& x) {
  if (x.ndim() != 4 || x.strides()[1] == 0) return false;
  int64_t least = 0;
  for (int d : {1, 3, 2, 0}) {
    const int64_t size = x.sizes()[d], stride = x.strides()[d];
    if (size == 0 || stride < least) return false;
    if (d == 0 && least == x.strides()[1]) return false;
    least = size > 1 ? stride * size : stride;
  }
  return true;
}

// Keeps an input for backward only where a gradient will need it.
inline Saved save_if(bool needed, const Tensor& x) {
  return needed ? Saved::input(x) : Saved();
}

}  // namespace dt
