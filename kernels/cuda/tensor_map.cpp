#include "kernels/cuda/tensor_map.h"

#include <cuda_runtime.h>

#include "kernels/dtype.h"

namespace dt::cuda {
namespace {

constexpr int kRank = 4;
constexpr int64_t kUnit = 16, kElementBytes = 2, kMostBytes = int64_t{1} << 40;

// The driver's, which this library is not linked with.
using Encode = decltype(&cuTensorMapEncodeTiled);

Encode encode() {
  static const Encode found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result;
    constexpr const char* kName = "cuTensorMapEncodeTiled";
    constexpr unsigned kSince = 12000;  // the CUDA that brought it
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(kName, &function, kSince, cudaEnableDefault, &result);
    if (error != cudaSuccess) cudaGetLastError();  // else the next launch would report it
    const bool is_there = error == cudaSuccess && result == cudaDriverEntryPointSuccess;
    return is_there ? reinterpret_cast<Encode>(function) : nullptr;
  }();
  return found;
}

}  // namespace

bool has_map(const dt_view& v) {
  if (encode() == nullptr || reinterpret_cast<uintptr_t>(v.data) % kUnit != 0) return false;
  for (int d = 0; d < kRank; ++d) {
    const int64_t bytes = v.strides[d] * kElementBytes;
    if (v.sizes[d] < 1 || v.sizes[d] > INT32_MAX) return false;
    if (d == kRank - 1 || v.sizes[d] == 1) continue;
    if (bytes <= 0 || bytes % kUnit != 0 || bytes >= kMostBytes) return false;
  }
  return v.sizes[kRank - 1] == 1 || v.strides[kRank - 1] == 1;
}

int32_t make_map(const dt_view& v, CUtensorMap* map) {
  cuuint64_t sizes[kRank], strides[kRank - 1];
  for (int d = 0; d < kRank; ++d) sizes[d] = static_cast<cuuint64_t>(v.sizes[kRank - 1 - d]);
  for (int d = 0; d < kRank - 1; ++d) {
    const int of = kRank - 2 - d;
    // One of a kind has no next: any stride will do.
    strides[d] = static_cast<cuuint64_t>(v.sizes[of] == 1 ? kUnit : v.strides[of] * kElementBytes);
  }
  const cuuint32_t box[kRank] = {kMapColumns, kMapRows, 1, 1}, steps[kRank] = {1, 1, 1, 1};
  const CUtensorMapDataType type = v.dtype == dtype_of<BFloat16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                                 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const CUresult result =
      encode()(map, type, kRank, v.data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? DT_KERNEL_OK : DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::cuda
