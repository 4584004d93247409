// The part of cuBLASLt's C interface that is used here, declared by hand so that building the
// plugin needs none of NVIDIA's library packages. tests/cuda/library_constants_test.cpp compares it
// with the real header where there is one.
#pragma once

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

namespace dt::cuda::lt {

using Status = int;
using Handle = struct Context*;
// Callers may copy what these point to: they are plain memory.
struct MatmulDesc {
  uint64_t data[32];
};
struct MatrixLayout {
  uint64_t data[8];
};
struct Preference {
  uint64_t data[8];
};
struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

constexpr Status kSuccess = 0;         // CUBLAS_STATUS_SUCCESS
constexpr int kComputeFloat = 68;      // CUBLAS_COMPUTE_32F
constexpr int kComputeTf32 = 77;       // CUBLAS_COMPUTE_32F_FAST_TF32
constexpr int kComputeDouble = 70;     // CUBLAS_COMPUTE_64F
constexpr int kFloat = 0;              // CUDA_R_32F
constexpr int kDouble = 1;             // CUDA_R_64F
constexpr int kHalf = 2;               // CUDA_R_16F
constexpr int kBFloat = 14;            // CUDA_R_16BF
constexpr int32_t kPlain = 0;          // CUBLAS_OP_N
constexpr int32_t kTransposed = 1;     // CUBLAS_OP_T
constexpr uint32_t kEpilogueNone = 1;  // CUBLASLT_EPILOGUE_DEFAULT
// To be combined.
constexpr uint32_t kEpilogueRelu = 2;    // CUBLASLT_EPILOGUE_RELU
constexpr uint32_t kEpilogueBias = 4;    // CUBLASLT_EPILOGUE_BIAS
constexpr int kDescTransposeA = 3;       // CUBLASLT_MATMUL_DESC_TRANSA
constexpr int kDescTransposeB = 4;       // CUBLASLT_MATMUL_DESC_TRANSB
constexpr int kDescEpilogue = 7;         // CUBLASLT_MATMUL_DESC_EPILOGUE
constexpr int kDescBiasPointer = 8;      // CUBLASLT_MATMUL_DESC_BIAS_POINTER
constexpr int kLayoutBatchCount = 5;     // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
constexpr int kLayoutBatchStride = 6;    // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
constexpr int kPreferenceWorkspace = 1;  // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
constexpr int kPreferenceAlignmentA =
    5;  // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES; then B, C, D

// The functions, named as in the library without their prefix "cublasLt".
struct Functions {
  Status (*Create)(Handle*);
  Status (*MatmulDescCreate)(MatmulDesc**, int compute_type, int scale_type);
  Status (*MatmulDescSetAttribute)(MatmulDesc*, int attribute, const void* value, size_t bytes);
  Status (*MatrixLayoutCreate)(MatrixLayout**, int type, uint64_t rows, uint64_t columns,
                               int64_t leading_dimension);
  Status (*MatrixLayoutSetAttribute)(MatrixLayout*, int attribute, const void* value, size_t bytes);
  Status (*MatmulPreferenceCreate)(Preference**);
  Status (*MatmulPreferenceDestroy)(Preference*);
  Status (*MatmulPreferenceSetAttribute)(Preference*, int attribute, const void* value,
                                         size_t bytes);
  Status (*MatmulAlgoGetHeuristic)(Handle, MatmulDesc*, MatrixLayout* a, MatrixLayout* b,
                                   MatrixLayout* c, MatrixLayout* d, Preference*, int wanted,
                                   HeuristicResult* results, int* found);
  Status (*Matmul)(Handle, MatmulDesc*, const void* alpha, const void* a, MatrixLayout* a_layout,
                   const void* b, MatrixLayout* b_layout, const void* beta, const void* c,
                   MatrixLayout* c_layout, void* d, MatrixLayout* d_layout, const Algorithm*,
                   void* workspace, size_t workspace_bytes, cudaStream_t);
  const char* (*GetStatusString)(Status);
};

}  // namespace dt::cuda::lt
