// Attention and its gradients. The table for processors from before 2013 is kept small: there they
// are composed of other ops.
#include "kernels/calls/attention.gen.h"
#include "kernels/calls/generation.gen.h"

#if defined(__AVX__)
#include "kernels/cpu/attention_backward.h"
#include "kernels/cpu/attention_forward.h"
#endif

namespace dt::cpu {

#if defined(__AVX__)

int32_t kernels::attention(const dt_stream* stream, const calls::Attention& call) {
  return visit_wide(call.query.dtype, [&](auto type) {
    attend_all<typename decltype(type)::type>(stream, call);
    return DT_KERNEL_OK;
  });
}

int64_t kernels::attention_workspace(const dt_stream* stream, const calls::Attention& call) {
  int64_t bytes = 0;
  visit_wide(call.query.dtype, [&](auto type) {
    bytes = worker_bytes<typename decltype(type)::type>({call.query, call.key, call.value});
  });
  return stream->threads * bytes;
}

int32_t kernels::attention_backward(const dt_stream* stream, const calls::AttentionBackward& call) {
  return visit_wide(call.query.dtype, [&](auto type) {
    differentiate<typename decltype(type)::type>(stream, call);
    return DT_KERNEL_OK;
  });
}

int64_t kernels::attention_backward_workspace(const dt_stream* stream,
                                              const calls::AttentionBackward& call) {
  int64_t bytes = 0;
  visit_wide(call.query.dtype, [&](auto type) {
    const BackwardMemory<typename decltype(type)::type> memory(call, BackwardPlan(call),
                                                               Workspace(nullptr));
    bytes = memory.shared_bytes + stream->threads * memory.worker_bytes;
  });
  return bytes;
}

#else

int32_t kernels::attention(const dt_stream*, const calls::Attention&) {
  return DT_KERNEL_UNSUPPORTED;
}
int64_t kernels::attention_workspace(const dt_stream*, const calls::Attention&) {
  return 0;
}
int32_t kernels::attention_backward(const dt_stream*, const calls::AttentionBackward&) {
  return DT_KERNEL_UNSUPPORTED;
}
int64_t kernels::attention_backward_workspace(const dt_stream*, const calls::AttentionBackward&) {
  return 0;
}

#endif

// What one kernel would leave for the next is in the caches here.
int32_t kernels::decoder_block(const dt_stream*, const calls::DecoderBlock&) {
  return DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::cpu
