// The numbers and signatures of cuBLASLt and cuDNN that kernels/cuda declares by hand, against the
// real headers where they are installed. It is a test by being compiled; main says what was
// compared.
#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "kernels/cuda/cublaslt_api.h"
#include "kernels/cuda/cudnn_api.h"

// The functions of the hand-written tables differ from the real ones in the names of pointer and
// enum types only, so arguments must be as many and as large.
template <class Mine, class Theirs>
struct SameShape : std::false_type {};
template <class R, class... A, class S, class... B>
struct SameShape<R (*)(A...), S (*)(B...)> {
  static constexpr bool sizes() {
    if constexpr (sizeof...(A) == sizeof...(B))
      return ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>)&&...);
    else
      return false;
  }
  static constexpr bool value = sizeof(R) == sizeof(S) && sizes();
};

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define DT_HAS_CUBLASLT 1

namespace lt = dt::cuda::lt;

static_assert(lt::kSuccess == CUBLAS_STATUS_SUCCESS);
static_assert(lt::kComputeFloat == CUBLAS_COMPUTE_32F);
static_assert(lt::kComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(lt::kComputeDouble == CUBLAS_COMPUTE_64F);
static_assert(lt::kFloat == CUDA_R_32F && lt::kDouble == CUDA_R_64F);
static_assert(lt::kHalf == CUDA_R_16F && lt::kBFloat == CUDA_R_16BF);
static_assert(lt::kPlain == CUBLAS_OP_N && lt::kTransposed == CUBLAS_OP_T);
static_assert(lt::kEpilogueBias == CUBLASLT_EPILOGUE_BIAS);
static_assert(lt::kDescTransposeA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(lt::kDescTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(lt::kDescEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(lt::kDescBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(lt::kLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(lt::kLayoutBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(lt::kPreferenceWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(lt::kPreferenceAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(lt::kPreferenceAlignmentA + 1 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(lt::kPreferenceAlignmentA + 2 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(lt::kPreferenceAlignmentA + 3 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sizeof(lt::MatmulDesc) == sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(lt::MatrixLayout) == sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(lt::Preference) == sizeof(cublasLtMatmulPreferenceOpaque_t));
static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(lt::HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(lt::HeuristicResult, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(lt::HeuristicResult, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));

#define DT_SAME(NAME) \
  static_assert(SameShape<decltype(lt::Functions::NAME), decltype(&cublasLt##NAME)>::value)
DT_SAME(Create);
DT_SAME(MatmulDescCreate);
DT_SAME(MatmulDescSetAttribute);
DT_SAME(MatrixLayoutCreate);
DT_SAME(MatrixLayoutSetAttribute);
DT_SAME(MatmulPreferenceCreate);
DT_SAME(MatmulPreferenceDestroy);
DT_SAME(MatmulPreferenceSetAttribute);
DT_SAME(MatmulAlgoGetHeuristic);
DT_SAME(Matmul);
DT_SAME(GetStatusString);
#undef DT_SAME
#else
#define DT_HAS_CUBLASLT 0
#endif

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#define DT_HAS_CUDNN 1

namespace dnn = dt::cuda::dnn;

#define DT_EQUAL(MINE, THEIRS) static_assert(int{MINE} == int{THEIRS})
DT_EQUAL(dnn::kSuccess, CUDNN_STATUS_SUCCESS);
static_assert(dnn::kFloat == CUDNN_DATA_FLOAT && dnn::kDouble == CUDNN_DATA_DOUBLE);
static_assert(dnn::kHalf == CUDNN_DATA_HALF && dnn::kBFloat == CUDNN_DATA_BFLOAT16);
DT_EQUAL(dnn::kCrossCorrelation, CUDNN_CROSS_CORRELATION);
DT_EQUAL(dnn::kHeuristicA, CUDNN_HEUR_MODE_A);
DT_EQUAL(dnn::kHeuristicB, CUDNN_HEUR_MODE_B);
DT_EQUAL(dnn::kHeuristicFallback, CUDNN_HEUR_MODE_FALLBACK);
DT_EQUAL(dnn::kNoteTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
DT_EQUAL(dnn::kNoteDownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
DT_EQUAL(dnn::kNoteNarrowSums, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
DT_EQUAL(dnn::kNoteNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
static_assert(int{dnn::kNotes} >= int{CUDNN_NUMERICAL_NOTE_TYPE_COUNT});
DT_EQUAL(dnn::kTypeHandle, CUDNN_TYPE_HANDLE);
DT_EQUAL(dnn::kTypeDataType, CUDNN_TYPE_DATA_TYPE);
DT_EQUAL(dnn::kTypeInt64, CUDNN_TYPE_INT64);
DT_EQUAL(dnn::kTypeFloat, CUDNN_TYPE_FLOAT);
DT_EQUAL(dnn::kTypeDouble, CUDNN_TYPE_DOUBLE);
DT_EQUAL(dnn::kTypePointer, CUDNN_TYPE_VOID_PTR);
DT_EQUAL(dnn::kTypeConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE);
DT_EQUAL(dnn::kTypeHeuristicMode, CUDNN_TYPE_HEUR_MODE);
DT_EQUAL(dnn::kTypeNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE);
DT_EQUAL(dnn::kTypeDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
DT_EQUAL(dnn::kConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
DT_EQUAL(dnn::kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
DT_EQUAL(dnn::kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
DT_EQUAL(dnn::kEngineHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
DT_EQUAL(dnn::kExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
DT_EQUAL(dnn::kForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
DT_EQUAL(dnn::kBackwardFilter, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
DT_EQUAL(dnn::kBackwardData, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
DT_EQUAL(dnn::kOperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
DT_EQUAL(dnn::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
DT_EQUAL(dnn::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
DT_EQUAL(dnn::kConvolutionComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
DT_EQUAL(dnn::kConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
DT_EQUAL(dnn::kConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
DT_EQUAL(dnn::kConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
DT_EQUAL(dnn::kConvolutionPaddingAfter, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
DT_EQUAL(dnn::kConvolutionPaddingBefore, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
DT_EQUAL(dnn::kConvolutionDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
DT_EQUAL(dnn::kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE);
DT_EQUAL(dnn::kHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
DT_EQUAL(dnn::kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
DT_EQUAL(dnn::kConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
DT_EQUAL(dnn::kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
DT_EQUAL(dnn::kPlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
DT_EQUAL(dnn::kPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
DT_EQUAL(dnn::kForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
DT_EQUAL(dnn::kForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
DT_EQUAL(dnn::kForwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
DT_EQUAL(dnn::kForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
DT_EQUAL(dnn::kForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
DT_EQUAL(dnn::kForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
DT_EQUAL(dnn::kDataAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
DT_EQUAL(dnn::kDataBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
DT_EQUAL(dnn::kDataConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
DT_EQUAL(dnn::kDataW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
DT_EQUAL(dnn::kDataDx, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
DT_EQUAL(dnn::kDataDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
DT_EQUAL(dnn::kFilterAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
DT_EQUAL(dnn::kFilterBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
DT_EQUAL(dnn::kFilterConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
DT_EQUAL(dnn::kFilterDw, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
DT_EQUAL(dnn::kFilterX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
DT_EQUAL(dnn::kFilterDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
DT_EQUAL(dnn::kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
DT_EQUAL(dnn::kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
DT_EQUAL(dnn::kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
DT_EQUAL(dnn::kTensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE);
DT_EQUAL(dnn::kTensorSizes, CUDNN_ATTR_TENSOR_DIMENSIONS);
DT_EQUAL(dnn::kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
DT_EQUAL(dnn::kTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
DT_EQUAL(dnn::kPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
DT_EQUAL(dnn::kPackData, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
DT_EQUAL(dnn::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
DT_EQUAL(dnn::kEngineNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
DT_EQUAL(dnn::kInt, CUDNN_DATA_INT32);
DT_EQUAL(dnn::kBoolean, CUDNN_DATA_BOOLEAN);
DT_EQUAL(dnn::kAdd, CUDNN_POINTWISE_ADD);
DT_EQUAL(dnn::kMul, CUDNN_POINTWISE_MUL);
DT_EQUAL(dnn::kDiv, CUDNN_POINTWISE_DIV);
DT_EQUAL(dnn::kSub, CUDNN_POINTWISE_SUB);
DT_EQUAL(dnn::kExp, CUDNN_POINTWISE_EXP);
DT_EQUAL(dnn::kLog, CUDNN_POINTWISE_LOG);
DT_EQUAL(dnn::kIdentity, CUDNN_POINTWISE_IDENTITY);
DT_EQUAL(dnn::kDoReshape, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
DT_EQUAL(dnn::kDoReshapeX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
DT_EQUAL(dnn::kDoReshapeY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
DT_EQUAL(dnn::kGreaterEqual, CUDNN_POINTWISE_CMP_GE);
DT_EQUAL(dnn::kIndex, CUDNN_POINTWISE_GEN_INDEX);
DT_EQUAL(dnn::kSelect, CUDNN_POINTWISE_BINARY_SELECT);
DT_EQUAL(dnn::kReduceAdd, CUDNN_REDUCE_TENSOR_ADD);
DT_EQUAL(dnn::kReduceMax, CUDNN_REDUCE_TENSOR_MAX);
DT_EQUAL(dnn::kTypeBoolean, CUDNN_TYPE_BOOLEAN);
DT_EQUAL(dnn::kTypePointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
DT_EQUAL(dnn::kTypeReductionOperator, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
DT_EQUAL(dnn::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
DT_EQUAL(dnn::kDoPointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
DT_EQUAL(dnn::kMatmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
DT_EQUAL(dnn::kDoMatmul, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
DT_EQUAL(dnn::kReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
DT_EQUAL(dnn::kDoReduction, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
DT_EQUAL(dnn::kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
DT_EQUAL(dnn::kPointwiseComputeType, CUDNN_ATTR_POINTWISE_MATH_PREC);
DT_EQUAL(dnn::kPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS);
DT_EQUAL(dnn::kDoPointwiseDescriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
DT_EQUAL(dnn::kDoPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
DT_EQUAL(dnn::kDoPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
DT_EQUAL(dnn::kDoPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
DT_EQUAL(dnn::kDoPointwiseT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
DT_EQUAL(dnn::kTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
DT_EQUAL(dnn::kTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
DT_EQUAL(dnn::kMatmulComputeType, CUDNN_ATTR_MATMUL_COMP_TYPE);
DT_EQUAL(dnn::kDoMatmulA, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
DT_EQUAL(dnn::kDoMatmulB, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
DT_EQUAL(dnn::kDoMatmulC, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
DT_EQUAL(dnn::kDoMatmulDescriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC);
DT_EQUAL(dnn::kReductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR);
DT_EQUAL(dnn::kReductionComputeType, CUDNN_ATTR_REDUCTION_COMP_TYPE);
DT_EQUAL(dnn::kDoReductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
DT_EQUAL(dnn::kDoReductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
DT_EQUAL(dnn::kDoReductionDescriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC);

#define DT_SAME(NAME) \
  static_assert(SameShape<decltype(dnn::Functions::NAME), decltype(&cudnn##NAME)>::value)
DT_SAME(GetVersion);
DT_SAME(Create);
DT_SAME(SetStream);
DT_SAME(BackendCreateDescriptor);
DT_SAME(BackendDestroyDescriptor);
DT_SAME(BackendSetAttribute);
DT_SAME(BackendGetAttribute);
DT_SAME(BackendFinalize);
DT_SAME(BackendExecute);
DT_SAME(GetErrorString);
#undef DT_SAME
#undef DT_EQUAL
#else
#define DT_HAS_CUDNN 0
#endif

int main() {
  std::printf("cublasLt.h %s\n", DT_HAS_CUBLASLT ? "agrees" : "is not installed");
  std::printf("cudnn_graph.h %s\n", DT_HAS_CUDNN ? "agrees" : "is not installed");
  return 0;
}
