// One share of the elementwise kernels: see pointwise_kernel.cuh.
#include "kernels/cuda/pointwise_number.cuh"
#include "kernels/functors_0.gen.h"

namespace dt::cuda {
namespace {

template <>
int32_t pointwise<fn::power, NUM>(const dt_stream* stream, const calls::Pointwise& call) {
  return pointwise_by_number<fn::power>(stream, call);
}

}  // namespace

DT_POINTWISE_SHARE(DT_POINTWISE_KERNEL)

}  // namespace dt::cuda
