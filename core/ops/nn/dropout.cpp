#include "core/ops/nn/dropout.h"

#include <utility>

#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/nn.gen.h"
#include "core/ops/nn/checks.h"
#include "core/ops/pointwise.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/nn.gen.h"

namespace dt {
namespace {

void draw(const Tensor& y, const Tensor& x, double p, const Generator::Draw& at) {
  DropoutCall call;
  call.y = y;
  call.x = x;
  call.state = at.state;
  call.advance = at.advance;
  call.p = p;
  run(op::dropout, call);
}

void drop_in_place(const Tensor& x, double p, const Generator::Draw& at) {
  if (x.impl()->contiguous) return draw(x, x, p, at);
  const GradMode no_grad(false);
  copy_elements(x, dropout_at(x, p, at));
}

}  // namespace

Tensor dropout_at(const Tensor& input, double p, const Generator::Draw& at) {
  const Tensor x = contiguous(input);
  Tensor y = make_empty(x.sizes(), x.dtype(), x.device());
  draw(y, x, p, at);
  if (!input.impl()->contiguous) {
    const Tensor rows = std::exchange(y, empty_like(input));
    copy_elements(y, rows);
  }
  return record("NativeDropoutBackward0", y, {x},
                [p, at](BackwardCall& b) { b.results[0] = dropout_at(b.grad(), p, at); });
}

Tensor dropout(const Tensor& input, double p, bool training) {
  check_dropout_probability(p);
  if (!training || p == 0 || input.numel() == 0) return input;
  if (p == 1) return mul(input, Scalar(false));
  check_output_dtype(input.dtype());
  return dropout_at(input, p, default_generator(input.device())->reserve(input.numel()));
}

const Tensor& dropout_(const Tensor& input, double p, bool training) {
  check_dropout_probability(p);
  if (!training || p == 0 || input.numel() == 0) return input;
  if (p == 1) return mul_(input, Scalar(false));
  check_output_dtype(input.dtype());
  const Generator::Draw at = default_generator(input.device())->reserve(input.numel());
  inplace(
      "NativeDropoutBackward0", input, {input}, [&] { drop_in_place(input, p, at); },
      [p, at](BackwardCall& b) { b.results[0] = dropout_at(b.grad(), p, at); });
  return input;
}

}  // namespace dt
