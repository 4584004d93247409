// conv2d and its gradients: who computes what.
#include "kernels/cuda/conv.h"

#include "kernels/calls/conv.gen.h"
#include "kernels/cuda/cudnn_conv.h"
#include "kernels/cuda/launch.cuh"

namespace dt::cuda {
namespace {

Images images(const dt_view& v) {
  Images x = {v.data, {}, {}};
  for (int d = 0; d < 4; ++d) x.sizes[d] = v.sizes[d], x.strides[d] = v.strides[d];
  return x;
}

// The operands of a call, in the places that they have in y = x * weight + bias.
template <class Call>
Convolution convolution(Pass pass, const Call& call, const dt_view& x, const dt_view& weight,
                        const dt_view& y, const dt_view* bias) {
  Convolution c = {};
  c.pass = pass;
  c.dtype = y.dtype;
  c.x = images(x), c.w = images(weight), c.y = images(y);
  for (int d = 0; d < 2; ++d) {
    c.stride[d] = call.stride[d];
    c.padding[d] = call.padding[d];
    c.dilation[d] = call.dilation[d];
  }
  c.groups = call.groups;
  if (bias) c.bias = bias->data, c.bias_stride = bias->strides[0];
  return c;
}

Convolution describe(const calls::Conv2d& call) {
  return convolution(Pass::kForward, call, call.x, call.weight, call.y, call.bias);
}

Convolution describe(const calls::Conv2dBackwardInput& call) {
  return convolution(Pass::kBackwardInput, call, call.gx, call.weight, call.g, nullptr);
}

Convolution describe(const calls::Conv2dBackwardWeight& call) {
  return convolution(Pass::kBackwardWeight, call, call.x, call.gweight, call.g, call.gbias);
}

// ---- the choice

enum class Way { kFewInputs, kDirect, kLibrary, kGemm };

// Few channels give a matrix product too little to do: cuDNN spends its time on rearranging the
// images and on padding the channels to the width of its tiles. From a few hundred pairs of
// channels on its tensor cores and Winograd transforms are out of reach for plain arithmetic.
Way way_of(const Convolution& c) {
  if (few_inputs_can(c)) return Way::kFewInputs;
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
    case Way::kFewInputs:
      return 0;
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
  if (way == Way::kFewInputs) return few_inputs_convolve(stream, c);
  if (way == Way::kDirect) return direct_convolve(stream, c, workspace);
  char* const scratch = static_cast<char*>(workspace) + bias_bytes(stream, c);
  if (const int32_t result = convolve(stream, c, way, scratch)) return result;
  const bool wants_bias = c.pass == Pass::kBackwardWeight && c.bias != nullptr;
  return wants_bias ? bias_gradient(stream, c, workspace) : DT_KERNEL_OK;
}

template <class Call>
int32_t run_call(const dt_stream* stream, const Call& call) {
  const Convolution c = describe(call);
  return is_floating(c.dtype) ? run(stream, c, call.workspace) : DT_KERNEL_UNSUPPORTED;
}

template <class Call>
int64_t workspace_of(const dt_stream* stream, const Call& call) {
  const Convolution c = describe(call);
  return is_floating(c.dtype) ? bytes_for(stream, c) : 0;
}

}  // namespace

int32_t kernels::conv2d(const dt_stream* stream, const calls::Conv2d& call) {
  return run_call(stream, call);
}

int64_t kernels::conv2d_workspace(const dt_stream* stream, const calls::Conv2d& call) {
  return workspace_of(stream, call);
}

int32_t kernels::conv2d_backward_input(const dt_stream* stream,
                                       const calls::Conv2dBackwardInput& call) {
  return run_call(stream, call);
}

int64_t kernels::conv2d_backward_input_workspace(const dt_stream* stream,
                                                 const calls::Conv2dBackwardInput& call) {
  return workspace_of(stream, call);
}

int32_t kernels::conv2d_backward_weight(const dt_stream* stream,
                                        const calls::Conv2dBackwardWeight& call) {
  return run_call(stream, call);
}

int64_t kernels::conv2d_backward_weight_workspace(const dt_stream* stream,
                                                  const calls::Conv2dBackwardWeight& call) {
  return workspace_of(stream, call);
}

}  // namespace dt::cuda
