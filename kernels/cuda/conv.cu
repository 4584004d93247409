// conv2d and its gradients: who computes what.
#include "kernels/cuda/conv.h"

#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/register.h"

namespace dt::cuda {
namespace {

Images images(const dt_view& v) {
  Images x = {v.data, {}, {}};
  for (int d = 0; d < 4; ++d) x.sizes[d] = v.sizes[d], x.strides[d] = v.strides[d];
  return x;
}

// The operands of the call, in the places that they have in y = x * w.
Convolution convolution(const dt_call* call, Pass pass) {
  Convolution c = {};
  const dt_view *x = &call->in[0], *w = &call->in[1], *y = &call->out[0], *bias = nullptr;
  if (pass == Pass::kForward && call->n_in > 2) bias = &call->in[2];
  if (pass == Pass::kBackwardInput) x = &call->out[0], y = &call->in[0];
  if (pass == Pass::kBackwardWeight) {
    x = &call->in[1], w = &call->out[0], y = &call->in[0];
    if (call->n_out > 1) bias = &call->out[1];
  }
  c.pass = pass;
  c.dtype = call->out[0].dtype;
  c.x = images(*x), c.w = images(*w), c.y = images(*y);
  for (int d = 0; d < 2; ++d) {
    c.stride[d] = call->ints[d];
    c.padding[d] = call->ints[2 + d];
    c.dilation[d] = call->ints[4 + d];
  }
  c.groups = call->ints[6];
  if (bias != nullptr && bias->dtype != 0) c.bias = bias->data, c.bias_stride = bias->strides[0];
  return c;
}

// ---- the choice

enum class Way { kDirect, kLibrary, kGemm };

// Few channels give a matrix product too little to do: cuDNN spends its time on rearranging the
// images and on padding the channels to the width of its tiles. From a few hundred pairs of
// channels on its tensor cores and Winograd transforms are out of reach for plain arithmetic.
Way way_of(const Convolution& c) {
  if (direct_can(c)) return Way::kDirect;
  return cudnn_can(c) ? Way::kLibrary : Way::kGemm;
}

bool is_empty(const Images& x) {
  return x.sizes[0] == 0 || x.sizes[1] == 0 || x.sizes[2] == 0 || x.sizes[3] == 0;
}

// An empty sum is zero, which the matrix product gets right; the others want something to add.
Way way_of_any(const Convolution& c) {
  return is_empty(c.x) || is_empty(c.w) || is_empty(c.y) ? Way::kGemm : way_of(c);
}

// ---- scratch memory: what the bias gradient needs, then what the convolution needs

int64_t bias_bytes(const dt_stream* stream, const Convolution& c) {
  constexpr int64_t kBlock = 256;
  if (c.pass != Pass::kBackwardWeight || c.bias == nullptr) return 0;
  return divide_up(bias_gradient_workspace(stream, c), kBlock) * kBlock;
}

int64_t bytes_for(const dt_stream* stream, const Convolution& c) {
  switch (way_of_any(c)) {
    case Way::kDirect:
      return direct_workspace(stream, c);
    case Way::kLibrary:
      return bias_bytes(stream, c) + cudnn_workspace(stream, c);
    default:
      return bias_bytes(stream, c) + gemm_workspace(stream, c);
  }
}

// ---- running

// The convolution by the library, which leaves the bias to us, or by the matrix product.
int32_t convolve(const dt_stream* stream, const Convolution& c, Way way, void* workspace) {
  if (way == Way::kGemm) return gemm_convolve(stream, c, workspace);
  const int32_t result = cudnn_convolve(stream, c, workspace);
  // The scratch memory was meant for the library.
  if (result == DT_KERNEL_UNSUPPORTED) return gemm_convolve(stream, c, nullptr);
  const bool adds = c.pass == Pass::kForward && c.bias != nullptr;
  return result == DT_KERNEL_OK && adds ? add_bias(stream, c) : result;
}

int32_t run(const dt_stream* stream, const Convolution& c, void* workspace) {
  const Way way = way_of_any(c);
  if (way == Way::kDirect) return direct_convolve(stream, c, workspace);
  char* const scratch = static_cast<char*>(workspace) + bias_bytes(stream, c);
  if (const int32_t result = convolve(stream, c, way, scratch)) return result;
  const bool wants_bias = c.pass == Pass::kBackwardWeight && c.bias != nullptr;
  return wants_bias ? bias_gradient(stream, c, workspace) : DT_KERNEL_OK;
}

bool is_floating(int32_t dtype) {
  return dtype == DT_FLOAT32 || dtype == DT_FLOAT64;
}

template <Pass pass>
int32_t kernel(const dt_stream* stream, const dt_call* call) {
  if (!is_floating(call->out[0].dtype)) return DT_KERNEL_UNSUPPORTED;
  return run(stream, convolution(call, pass), call->workspace);
}

template <Pass pass>
int64_t workspace(const dt_stream* stream, const dt_call* call) {
  if (!is_floating(call->out[0].dtype)) return 0;
  return bytes_for(stream, convolution(call, pass));
}

}  // namespace

void register_conv(dt_registry* registry) {
  add(registry, "conv2d", kernel<Pass::kForward>, workspace<Pass::kForward>);
  add(registry, "conv2d_backward_input", kernel<Pass::kBackwardInput>,
      workspace<Pass::kBackwardInput>);
  add(registry, "conv2d_backward_weight", kernel<Pass::kBackwardWeight>,
      workspace<Pass::kBackwardWeight>);
}

}  // namespace dt::cuda
