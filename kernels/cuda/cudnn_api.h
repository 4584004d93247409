// The part of cuDNN 9's backend interface that is used here, declared by hand so that building the
// plugin needs none of NVIDIA's library packages. tests/cuda/library_constants_test.cpp compares it
// with the real header where there is one.
//
// The interface has few functions and many numbers: everything is a descriptor, which gets its
// attributes by number and is finalized before it is used.
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

namespace dt::cuda::dnn {

using Status = int;
using Handle = struct Context*;
using Descriptor = void*;

constexpr Status kSuccess = 0;        // CUDNN_STATUS_SUCCESS
constexpr int kFloat = 0;             // CUDNN_DATA_FLOAT
constexpr int kDouble = 1;            // CUDNN_DATA_DOUBLE
constexpr int kHalf = 2;              // CUDNN_DATA_HALF
constexpr int kInt = 4;               // CUDNN_DATA_INT32
constexpr int kBFloat = 9;            // CUDNN_DATA_BFLOAT16
constexpr int kBoolean = 11;          // CUDNN_DATA_BOOLEAN
constexpr int kCrossCorrelation = 1;  // CUDNN_CROSS_CORRELATION

// CUDNN_HEUR_MODE_...
enum Heuristic { kHeuristicB = 1, kHeuristicFallback = 2, kHeuristicA = 3 };

// CUDNN_NUMERICAL_NOTE_...: what an engine does to the numbers.
enum Note {
  kNoteTensorCore = 0,
  kNoteDownConvertInputs = 1,
  kNoteNarrowSums = 2,  // ..._REDUCED_PRECISION_REDUCTION
  kNoteNondeterministic = 4,
  kNotes = 32  // room for more than any version has
};

// CUDNN_POINTWISE_...: operations of one element.
enum Pointwise {
  kAdd = 0,
  kMul = 1,
  kDiv = 6,
  kSub = 9,
  kExp = 13,
  kLog = 15,
  kIdentity = 21,
  kGreaterEqual = 303,  // CMP_GE
  kIndex = 501,         // GEN_INDEX: an element's own along an axis
  kSelect = 601         // BINARY_SELECT: x where t, else b
};

// CUDNN_REDUCE_TENSOR_...
enum Reduction { kReduceAdd = 0, kReduceMax = 3 };

// Types of attributes: CUDNN_TYPE_...
enum Type {
  kTypeHandle = 0,
  kTypeDataType = 1,
  kTypeBoolean = 2,
  kTypeInt64 = 3,
  kTypeFloat = 4,
  kTypeDouble = 5,
  kTypePointer = 6,  // CUDNN_TYPE_VOID_PTR
  kTypeConvolutionMode = 7,
  kTypeHeuristicMode = 8,
  kTypeNumericalNote = 11,
  kTypePointwiseMode = 14,
  kTypeDescriptor = 15,        // CUDNN_TYPE_BACKEND_DESCRIPTOR
  kTypeReductionOperator = 18  // CUDNN_TYPE_REDUCTION_OPERATOR_TYPE
};

// Kinds of descriptors: CUDNN_BACKEND_..._DESCRIPTOR
enum Kind {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kEngineHeuristic = 4,
  kExecutionPlan = 5,
  kForward = 10,         // OPERATION_CONVOLUTION_FORWARD
  kBackwardFilter = 11,  // OPERATION_CONVOLUTION_BACKWARD_FILTER
  kBackwardData = 12,    // OPERATION_CONVOLUTION_BACKWARD_DATA
  kDoPointwise = 13,     // OPERATION_POINTWISE
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kDoMatmul = 19,  // OPERATION_MATMUL
  kReduction = 21,
  kDoReduction = 22,  // OPERATION_REDUCTION
  kDoReshape = 31     // OPERATION_RESHAPE
};

// CUDNN_ATTR_...
enum Attribute {
  kPointwiseMode = 0,
  kPointwiseComputeType = 1,  // POINTWISE_MATH_PREC
  kPointwiseAxis = 9,
  kConvolutionComputeType = 100,  // CONVOLUTION_COMP_TYPE
  kConvolutionMode = 101,         // CONVOLUTION_CONV_MODE
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,       // CONVOLUTION_FILTER_STRIDES
  kConvolutionPaddingAfter = 104,  // CONVOLUTION_POST_PADDINGS
  kConvolutionPaddingBefore = 105,
  kConvolutionDims = 106,  // CONVOLUTION_SPATIAL_DIMS
  kHeuristicMode = 200,    // ENGINEHEUR_MODE
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kConfigEngine = 300,  // ENGINECFG_ENGINE
  kPlanHandle = 400,    // EXECUTION_PLAN_HANDLE
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kForwardAlpha = 700,  // OPERATION_CONVOLUTION_FORWARD_ALPHA
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kDataAlpha = 706,  // OPERATION_CONVOLUTION_BWD_DATA_ALPHA
  kDataBeta = 707,
  kDataConvolution = 708,
  kDataW = 709,
  kDataDx = 710,
  kDataDy = 711,
  kFilterAlpha = 712,  // OPERATION_CONVOLUTION_BWD_FILTER_ALPHA
  kFilterBeta = 713,
  kFilterConvolution = 714,
  kFilterDw = 715,
  kFilterX = 716,
  kFilterDy = 717,
  kDoPointwiseDescriptor = 750,  // OPERATION_POINTWISE_PW_DESCRIPTOR
  kDoPointwiseX = 751,
  kDoPointwiseB = 752,
  kDoPointwiseY = 753,
  kDoPointwiseT = 758,
  kGraphHandle = 800,      // OPERATIONGRAPH_HANDLE
  kGraphOperations = 801,  // OPERATIONGRAPH_OPS
  kTensorAlignment = 900,  // TENSOR_BYTE_ALIGNMENT
  kTensorDataType = 901,
  kTensorSizes = 902,  // TENSOR_DIMENSIONS
  kTensorStrides = 903,
  kTensorId = 906,         // TENSOR_UNIQUE_ID
  kTensorIsVirtual = 907,  // never in memory
  kTensorIsByValue = 908,  // in the host's memory
  kPackIds = 1000,         // VARIANT_PACK_UNIQUE_IDS
  kPackData = 1001,        // VARIANT_PACK_DATA_POINTERS
  kPackWorkspace = 1003,
  kEngineNotes = 1303,  // ENGINE_NUMERICAL_NOTE
  kMatmulComputeType = 1500,
  kDoMatmulA = 1520,  // OPERATION_MATMUL_ADESC
  kDoMatmulB = 1521,
  kDoMatmulC = 1522,
  kDoMatmulDescriptor = 1523,  // OPERATION_MATMUL_DESC
  kReductionOperator = 1600,
  kReductionComputeType = 1601,
  kDoReductionX = 1610,
  kDoReductionY = 1611,
  kDoReductionDescriptor = 1612,  // OPERATION_REDUCTION_DESC
  kDoReshapeX = 2200,
  kDoReshapeY = 2201
};

// The functions, named as in the library without their prefix "cudnn".
struct Functions {
  size_t (*GetVersion)();  // 91002: 9.10.2
  Status (*Create)(Handle*);
  Status (*SetStream)(Handle, cudaStream_t);
  Status (*BackendCreateDescriptor)(int kind, Descriptor*);
  Status (*BackendDestroyDescriptor)(Descriptor);
  Status (*BackendSetAttribute)(Descriptor, int attribute, int type, int64_t count,
                                const void* values);
  Status (*BackendGetAttribute)(Descriptor, int attribute, int type, int64_t wanted, int64_t* count,
                                void* values);
  Status (*BackendFinalize)(Descriptor);
  Status (*BackendExecute)(Handle, Descriptor plan, Descriptor variant_pack);
  const char* (*GetErrorString)(Status);
};

}  // namespace dt::cuda::dnn
