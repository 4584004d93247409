// Maximum and average pooling and their gradients.
#include "kernels/cpu/pool_average.h"
#include "kernels/cpu/pool_max.h"

namespace dt::cpu {

int32_t kernels::max_pool2d(const dt_stream* stream, const calls::MaxPool2d& call) {
  switch (call.y.dtype) {
    case DT_FLOAT32:
      run_max_pool<float>(stream, call);
      return DT_KERNEL_OK;
    case DT_FLOAT64:
      run_max_pool<double>(stream, call);
      return DT_KERNEL_OK;
    case DT_INT64:
      run_max_pool<int64_t>(stream, call);
      return DT_KERNEL_OK;
    case DT_INT32:
      run_max_pool<int32_t>(stream, call);
      return DT_KERNEL_OK;
    case DT_UINT8:
      run_max_pool<uint8_t>(stream, call);
      return DT_KERNEL_OK;
    default:
      return DT_KERNEL_UNSUPPORTED;
  }
}

int32_t kernels::max_pool2d_backward(const dt_stream* stream,
                                     const calls::MaxPool2dBackward& call) {
  return visit_floating(call.gx.dtype, [&](auto zero) {
    run_max_pool_backward<decltype(zero)>(stream, call);
    return int32_t{DT_KERNEL_OK};
  });
}

int32_t kernels::avg_pool2d(const dt_stream* stream, const calls::AvgPool2d& call) {
  return visit_floating(call.y.dtype, [&](auto zero) {
    run_average_pool<decltype(zero)>(stream, call);
    return int32_t{DT_KERNEL_OK};
  });
}

int32_t kernels::avg_pool2d_backward(const dt_stream* stream,
                                     const calls::AvgPool2dBackward& call) {
  return visit_floating(call.gx.dtype, [&](auto zero) {
    run_average_pool_backward<decltype(zero)>(stream, call);
    return int32_t{DT_KERNEL_OK};
  });
}

}  // namespace dt::cpu
