// What random ops draw with: numbers for the elements of a tensor, by their places.
#pragma once

#include "core/autograd/inplace.h"
#include "core/ops/creation.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/random.gen.h"
#include "core/runtime/generator.h"

namespace dt {

inline Generator::Draw reserve(const Ref<Generator>& generator, const Tensor& x) {
  return generator_or_default(generator, x.device())->reserve(x.numel());
}

// Runs a kernel that writes y with the numbers at a place of the sequence.
template <class Call>
void run_draw(Op<Call> op, Call& call, const Tensor& y, const Generator::Draw& at) {
  call.y = y;
  call.state = at.state;
  call.advance = at.advance;
  run(op, call);
}

void fill_uniform(const Tensor& x, double low, double high, const Ref<Generator>& generator);
void fill_normal(const Tensor& x, double mean, double std, const Ref<Generator>& generator);

// Overwriting at random cuts the tensor's past off: its gradient is 0.
template <class Write>
const Tensor& overwrite_at_random(const char* node_name, const Tensor& self, Write write) {
  inplace(node_name, self, {self}, write,
          [](BackwardCall& b) { b.results[0] = zeros_like(b.grad()); });
  return self;
}

}  // namespace dt
