// What NVIDIA's libraries call the floating dtypes, and what they do with them. A new one needs a
// row here: library_type() does not compile without.
#pragma once

#include "kernels/cuda/cublaslt_api.h"
#include "kernels/cuda/cudnn_api.h"
#include "kernels/dtype.h"

namespace dt::cuda {

struct LibraryType {
  int cublaslt;       // CUDA_R_...: of elements
  int scale;          // and of cuBLASLt's scale factors
  int multiply;       // how cuBLASLt multiplies
  int multiply_fast;  // and where it may round to TF32
  int cudnn;          // CUDNN_DATA_...: of elements
  dnn::Type cudnn_scale;
  bool has_tf32;       // tensor cores work on it, rounded
  bool has_epilogues;  // cuBLASLt adds a bias and applies an activation
};

constexpr LibraryType library_type(Type<float>) {
  return {lt::kFloat, lt::kFloat, lt::kComputeFloat, lt::kComputeTf32, dnn::kFloat, dnn::kTypeFloat,
          true,       true};
}
constexpr LibraryType library_type(Type<double>) {
  return {lt::kDouble,
          lt::kDouble,
          lt::kComputeDouble,
          lt::kComputeDouble,
          dnn::kDouble,
          dnn::kTypeDouble,
          false,
          false};
}
// Sums of products are floats.
constexpr LibraryType library_type(Type<Float16>) {
  return {lt::kHalf, lt::kFloat, lt::kComputeFloat, lt::kComputeFloat, dnn::kHalf, dnn::kTypeFloat,
          false,     true};
}
constexpr LibraryType library_type(Type<BFloat16>) {
  return {
      lt::kBFloat, lt::kFloat, lt::kComputeFloat, lt::kComputeFloat, dnn::kBFloat, dnn::kTypeFloat,
      false,       true};
}

inline LibraryType library_type(int32_t dtype) {
  LibraryType found = {};
  visit_any(dtype, [&](auto type) {
    if constexpr (kIsFloating<typename decltype(type)::type>) found = library_type(type);
  });
  return found;
}

// A scale factor, in the type that the libraries want beside elements of `dtype`.
struct Scale {
  double bits = 0;

  Scale(double value, int32_t dtype) { put_number(&bits, compute_of(dtype), true, value, 0); }
  const void* data() const { return &bits; }
};

}  // namespace dt::cuda
