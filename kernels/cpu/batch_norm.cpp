// batch_norm of [N,C,L] per channel, and its gradients.
//
// Planes (contiguous [N,C,L]): a run along L belongs to one channel, so channels are reduced one at
// a time. Columns (channels-last, and [N,C] with L = 1): a run along C holds all channels of one
// position, so all channels are reduced side by side. Sums over the batch are taken in double, in
// chunks that the shape fixes.
#include "kernels/cpu/batch_norm_backward.h"
#include "kernels/cpu/batch_norm_forward.h"

namespace dt::cpu {
namespace {

// Whether calls with a relu behind the norm are served: those of floats.
bool has_packets(const dt_view& x) {
  return x.dtype == dtype_of<float> && (!has_columns(x) || x.sizes[1] % kPacket == 0);
}

// For the sums, and `numbers` of each channel.
int64_t workspace_bytes(const dt_view& x, int64_t numbers) {
  const auto bytes = [&](const BatchNormShape& s) {
    const int64_t sums = 2 * s.chunks * static_cast<int64_t>(sizeof(double));
    return s.channels * sums + s.width() * numbers * bytes_of(compute_of(x.dtype));
  };
  return max(bytes(make_shape(x)), has_short_planes(x) ? bytes(make_column_shape(x)) : 0);
}

}  // namespace

int32_t kernels::batch_norm(const dt_stream* stream, const calls::BatchNorm& call) {
  return visit_floating(compute_of(call.x.dtype), [&](auto type) {
    return forward<typename decltype(type)::type>(stream, NormCall(call, call.y));
  });
}

int64_t kernels::batch_norm_workspace(const dt_stream*, const calls::BatchNorm& call) {
  return workspace_bytes(call.x, 3);
}

int32_t kernels::batch_norm_backward(const dt_stream* stream,
                                     const calls::BatchNormBackward& call) {
  return visit_floating(compute_of(call.x.dtype), [&](auto type) {
    return backward<typename decltype(type)::type>(stream, NormGradient(call, nullptr, nullptr));
  });
}

int64_t kernels::batch_norm_backward_workspace(const dt_stream*,
                                               const calls::BatchNormBackward& call) {
  return workspace_bytes(call.x, 4);
}

int32_t kernels::batch_norm_relu(const dt_stream* stream, const calls::BatchNormRelu& call) {
  if (!has_packets(call.x)) return DT_KERNEL_UNSUPPORTED;
  NormCall norm(call, &call.y, true);
  norm.addend = call.addend;
  if (call.addend) let_follow(&norm.shape, *call.addend);
  norm.flags = optional_data<uint8_t>(call.flags);
  norm.limit = static_cast<float>(call.limit);
  return forward<float>(stream, norm);
}

int64_t kernels::batch_norm_relu_workspace(const dt_stream*, const calls::BatchNormRelu& call) {
  return workspace_bytes(call.x, 3);
}

int32_t kernels::batch_norm_relu_backward(const dt_stream* stream,
                                          const calls::BatchNormReluBackward& call) {
  if (!has_packets(call.x)) return DT_KERNEL_UNSUPPORTED;
  return backward<float>(stream, NormGradient(call, call.gaddend, data<const uint8_t>(call.flags)));
}

int64_t kernels::batch_norm_relu_backward_workspace(const dt_stream*,
                                                    const calls::BatchNormReluBackward& call) {
  return workspace_bytes(call.x, 4);
}

}  // namespace dt::cpu
