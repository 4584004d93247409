// Maximum and average pooling and their gradients.
#include "kernels/cpu/pool_average.h"
#include "kernels/cpu/pool_max.h"
#include "kernels/cpu/register.h"

namespace dt::cpu {
namespace {

int32_t max_pool2d(const dt_stream* stream, const dt_call* call) {
  switch (call->out[0].dtype) {
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

using Run = void(const dt_stream*, const dt_call*);

// A kernel of floating types.
template <Run* kFloat, Run* kDouble>
int32_t floating(const dt_stream* stream, const dt_call* call) {
  switch (call->out[0].dtype) {
    case DT_FLOAT32:
      kFloat(stream, call);
      return DT_KERNEL_OK;
    case DT_FLOAT64:
      kDouble(stream, call);
      return DT_KERNEL_OK;
    default:
      return DT_KERNEL_UNSUPPORTED;
  }
}

}  // namespace

void register_pool(dt_registry* registry) {
  add(registry, "max_pool2d", max_pool2d);
  add(registry, "max_pool2d_backward",
      floating<run_max_pool_backward<float>, run_max_pool_backward<double>>);
  add(registry, "avg_pool2d", floating<run_average_pool<float>, run_average_pool<double>>);
  add(registry, "avg_pool2d_backward",
      floating<run_average_pool_backward<float>, run_average_pool_backward<double>>);
}

}  // namespace dt::cpu
