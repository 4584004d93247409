// Maximum and average pooling and their gradients.
#include "kernels/cpu/pool_average.h"
#include "kernels/cpu/pool_max.h"

namespace dt::cpu {

int32_t kernels::max_pool2d(const dt_stream* stream, const calls::MaxPool2d& call) {
  return visit_number(
      call.y.dtype, [&](auto type) { run_max_pool<typename decltype(type)::type>(stream, call); });
}

int32_t kernels::max_pool2d_backward(const dt_stream* stream,
                                     const calls::MaxPool2dBackward& call) {
  return visit_floating(call.gx.dtype, [&](auto type) {
    run_max_pool_backward<typename decltype(type)::type>(stream, call);
  });
}

int32_t kernels::avg_pool2d(const dt_stream* stream, const calls::AvgPool2d& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    run_average_pool<typename decltype(type)::type>(stream, call);
  });
}

int32_t kernels::avg_pool2d_backward(const dt_stream* stream,
                                     const calls::AvgPool2dBackward& call) {
  return visit_floating(call.gx.dtype, [&](auto type) {
    run_average_pool_backward<typename decltype(type)::type>(stream, call);
  });
}

}  // namespace dt::cpu
