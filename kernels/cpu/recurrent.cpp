// One direction of a recurrent layer, all time steps at once, and its gradients. The table for
// processors from before 2013 is kept small: there it is composed of other ops.
#include "kernels/calls/recurrent.gen.h"

#if defined(__AVX__)
#include "kernels/cpu/recurrent_backward.h"
#include "kernels/cpu/recurrent_forward.h"
#endif

namespace dt::cpu {

#if defined(__AVX__)

int32_t kernels::recurrent(const dt_stream* stream, const calls::Recurrent& call) {
  return visit_floating(call.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const RecurrentForward<T> work(call);
    take_steps(stream, work.shape, describe<T>(work));
    return DT_KERNEL_OK;
  });
}

int64_t kernels::recurrent_workspace(const dt_stream*, const calls::Recurrent& call) {
  int64_t bytes = 0;
  visit_floating(call.y.dtype, [&](auto type) {
    bytes = RecurrentForward<typename decltype(type)::type>(call).workspace.bytes();
  });
  return bytes;
}

int32_t kernels::recurrent_backward(const dt_stream* stream, const calls::RecurrentBackward& call) {
  return visit_floating(call.gh.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const RecurrentBackward<T> work(call);
    take_steps(stream, work.shape, describe<T>(work));
    return DT_KERNEL_OK;
  });
}

int64_t kernels::recurrent_backward_workspace(const dt_stream*,
                                              const calls::RecurrentBackward& call) {
  int64_t bytes = 0;
  visit_floating(call.gh.dtype, [&](auto type) {
    bytes = RecurrentBackward<typename decltype(type)::type>(call).workspace.bytes();
  });
  return bytes;
}

#else

int32_t kernels::recurrent(const dt_stream*, const calls::Recurrent&) {
  return DT_KERNEL_UNSUPPORTED;
}
int64_t kernels::recurrent_workspace(const dt_stream*, const calls::Recurrent&) {
  return 0;
}
int32_t kernels::recurrent_backward(const dt_stream*, const calls::RecurrentBackward&) {
  return DT_KERNEL_UNSUPPORTED;
}
int64_t kernels::recurrent_backward_workspace(const dt_stream*, const calls::RecurrentBackward&) {
  return 0;
}

#endif

}  // namespace dt::cpu
