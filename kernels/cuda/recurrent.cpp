// Recurrent layers: their steps are other ops.
#include "kernels/calls/recurrent.gen.h"

namespace dt::cuda {

int32_t kernels::recurrent(const dt_stream*, const calls::Recurrent&) {
  return DT_KERNEL_UNSUPPORTED;
}

int32_t kernels::recurrent_backward(const dt_stream*, const calls::RecurrentBackward&) {
  return DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::cuda
