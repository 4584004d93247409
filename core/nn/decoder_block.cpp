#include "core/nn/decoder_block.h"

#include <cmath>

#include "core/autograd/record.h"
#include "core/base/error.h"
#include "core/nn/network.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/linalg.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/pointwise_activation.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/generation.gen.h"

namespace dt {
namespace {

Tensor applied(const Tensor& x, const Affine& a) {
  return linear(x, a.weight, a.bias);
}

Tensor normed(const Tensor& x, const Affine& a, double eps) {
  return layer_norm(x, {x.size(-1)}, a.weight, a.bias, eps);
}

void check_input(const Tensor& input, const DecoderBlock& block) {
  DT_CHECK(input.ndim() == 3, kRuntimeError, "expected input of [batch, time, width], got size ",
           input.sizes());
  DT_CHECK(block.heads > 0 && input.size(2) % block.heads == 0, kRuntimeError, "width ",
           input.size(2), " is no multiple of heads ", block.heads);
  const Dims packed = {3 * input.size(2), input.size(2)};
  DT_CHECK(block.qkv.weight.sizes() == packed, kRuntimeError, "expected qkv_weight of size ",
           packed, ", got ", block.qkv.weight.sizes());
}

// What a kernel takes: one token, and numbers of one dtype on one device whose sizes fit.
bool may_take(const KvCache& cache, const Tensor& input, const DecoderBlock& block) {
  if (!cache.place().defined() || input.device() == kCpu) return false;
  const int64_t width = input.size(2), hidden = block.up.weight.size(0),
                features = width / block.heads;
  const auto is_like_input = [&](const Tensor& x, const Dims& sizes) {
    return x.sizes() == sizes && x.dtype() == input.dtype() && x.device() == input.device() &&
           !needs_graph(x);
  };
  const auto fits = [&](const Affine& a, const Dims& sizes) {
    return is_like_input(a.weight, sizes) &&
           (!a.bias.defined() || is_like_input(a.bias, {sizes[0]}));
  };
  const Dims held = {1, block.heads, cache.capacity(), features};
  return input.numel() == width && input.is_contiguous() && !needs_graph(input) &&
         is_like_input(cache.keys(), held) && is_like_input(cache.values(), held) &&
         fits(block.norm1, {width}) && fits(block.qkv, {3 * width, width}) &&
         fits(block.out, {width, width}) && fits(block.norm2, {width}) &&
         fits(block.up, {hidden, width}) && fits(block.down, {width, hidden});
}

// Undefined if the device has no kernel for it.
Tensor by_kernel(const KvCache& cache, const Tensor& input, const DecoderBlock& block) {
  const Tensor y = make_empty(input.sizes(), input.dtype(), input.device());
  DecoderBlockCall call;
  call.y = y;
  call.keys = cache.keys();
  call.values = cache.values();
  call.x = input;
  call.place = cache.place();
  call.seen = cache.seen();
  call.norm1_weight = block.norm1.weight;
  call.norm1_bias = block.norm1.bias;
  call.qkv_weight = block.qkv.weight;
  call.qkv_bias = block.qkv.bias;
  call.out_weight = block.out.weight;
  call.out_bias = block.out.bias;
  call.norm2_weight = block.norm2.weight;
  call.norm2_bias = block.norm2.bias;
  call.up_weight = block.up.weight;
  call.up_bias = block.up.bias;
  call.down_weight = block.down.weight;
  call.down_bias = block.down.bias;
  call.eps = block.eps;
  call.scale = 1 / std::sqrt(static_cast<double>(input.size(2) / block.heads));
  if (!run_shortcut(op::decoder_block, call)) return Tensor();
  cache.keys().bump_version();
  cache.values().bump_version();
  return y;
}

}  // namespace

Tensor decoder_block(const Ref<KvCache>& cache, const Tensor& input, const DecoderBlock& block) {
  check_input(input, block);
  if (may_take(*cache, input, block)) {
    const Tensor y = by_kernel(*cache, input, block);
    if (y.defined()) return y;
  }
  const int64_t batch = input.size(0), time = input.size(1), width = input.size(2);
  const Tensor parts = permute(reshape(applied(normed(input, block.norm1, block.eps), block.qkv),
                                       {batch, time, 3, block.heads, width / block.heads}),
                               {2, 0, 3, 1, 4});
  const Tensor y =
      attend(select(parts, 0, 0), select(parts, 0, 1), select(parts, 0, 2), 0, Caches(&cache, 1));
  const Tensor x = input + applied(reshape(transpose(y, 1, 2), {batch, time, width}), block.out);
  const Tensor hidden = applied(normed(x, block.norm2, block.eps), block.up);
  return x + applied(gelu(hidden, Approximate::kTanh), block.down);
}

}  // namespace dt
