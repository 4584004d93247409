// Random tensors. Element i, counted in row-major order, gets the same number on every device, for
// any number of threads and in any memory layout.
#include <limits>

#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/random/checks.h"
#include "core/ops/random/fill.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/random.gen.h"
#include "core/runtime/calls/sorting.gen.h"
#include "core/runtime/context.h"
#include "core/runtime/generator.h"

namespace dt {
namespace {

// Runs draw(y) on a contiguous y of `dtype` and makes its elements x's.
template <class DrawInto>
void fill(const Tensor& x, DType dtype, DrawInto draw) {
  if (x.numel() == 0) return;
  if (x.impl()->contiguous && x.dtype() == dtype) return draw(x);
  const Tensor y = make_empty(x.sizes(), dtype, x.device());
  draw(y);
  copy_elements(x, y);
}

// Rounding to few digits reaches the upper bound, which is not among the numbers.
void exclude(const Tensor& x, double bound, double instead) {
  const GradMode no_grad(false);
  const Tensor numbers = make_alias(x, x.sizes(), x.strides(), x.offset());
  copy_elements(numbers, masked_fill(numbers, ge(numbers, bound), instead));
}

}  // namespace

void fill_uniform(const Tensor& x, double low, double high, const Ref<Generator>& generator) {
  check_floating(x, "check_uniform_bounds");
  const Generator::Draw at = reserve(generator, x);
  fill(x, info(x.dtype()).compute, [&](const Tensor& y) {
    UniformCall call;
    call.low = low;
    call.high = high;
    run_draw(op::uniform, call, y, at);
  });
  if (is_narrow(x.dtype()) && low < high) exclude(x, high, low);
}

void fill_normal(const Tensor& x, double mean, double std, const Ref<Generator>& generator) {
  check_floating(x, "normal_kernel_cpu");
  const Generator::Draw at = reserve(generator, x);
  fill(x, x.dtype(), [&](const Tensor& y) {
    NormalCall call;
    call.mean = mean;
    call.std = std;
    run_draw(op::normal, call, y, at);
  });
}

namespace {

void fill_integers(const Tensor& x, int64_t low, int64_t high, const Ref<Generator>& generator) {
  check_integers(x.dtype(), low, high);
  round_bounds(x.dtype(), low, high);
  const Generator::Draw at = reserve(generator, x);
  fill(x, kIntegerDType, [&](const Tensor& y) {
    RandintCall call;
    call.low = low;
    call.high = high;
    run_draw(op::randint, call, y, at);
  });
}

void fill_bernoulli(const Tensor& x, double p, const Ref<Generator>& generator) {
  const Generator::Draw at = reserve(generator, x);
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : kDTypeOf<float>;
  fill(x, dtype, [&](const Tensor& y) {
    BernoulliCall call;
    call.p = p;
    run_draw(op::bernoulli, call, y, at);
  });
}

// 1 where a uniform number is below the element of p.
Tensor below_chances(const Tensor& p, const Ref<Generator>& generator) {
  const GradMode no_grad(false);
  const Tensor y = make_empty(p.sizes(), p.dtype(), p.device());
  const Generator::Draw at = reserve(generator, y);
  if (p.numel() == 0) return y;
  const Tensor chances = contiguous(p);
  BernoulliEachCall call;
  call.y = y;
  call.p = chances;
  call.state = at.state;
  call.advance = at.advance;
  if (run_shortcut(op::bernoulli_each, call)) return y;
  // Not rounded to 16 bits: as many numbers as lie between two of those would count as below p.
  const Tensor u = make_empty(p.sizes(), info(p.dtype()).compute, p.device());
  UniformCall uniform;
  uniform.low = 0;
  uniform.high = 1;
  run_draw(op::uniform, uniform, u, at);
  return to_dtype(lt(u, p), p.dtype());
}

Tensor finish(const Tensor& x, bool requires_grad) {
  if (requires_grad) x.set_requires_grad(true);
  return x;
}

}  // namespace

Tensor rand(IntList size, const Ref<Generator>& generator, DType dtype, Device device,
            bool requires_grad) {
  const Tensor y = make_empty(size, dtype_or_default(dtype), device_or_default(device));
  fill_uniform(y, 0, 1, generator);
  return finish(y, requires_grad);
}

Tensor randn(IntList size, const Ref<Generator>& generator, DType dtype, Device device,
             bool requires_grad) {
  const Tensor y = make_empty(size, dtype_or_default(dtype), device_or_default(device));
  fill_normal(y, 0, 1, generator);
  return finish(y, requires_grad);
}

Tensor randint(int64_t low, int64_t high, IntList size, const Ref<Generator>& generator,
               DType dtype, Device device, bool requires_grad) {
  const Tensor y =
      make_empty(size, dtype == DType::kDefault ? kIntegerDType : dtype, device_or_default(device));
  fill_integers(y, low, high, generator);
  return finish(y, requires_grad);
}

// The order that sorts random keys. Two of the 63-bit keys are equal with probability n^2 / 2^64;
// then the stable sort decides, so the result does not depend on the device.
Tensor randperm(int64_t n, const Ref<Generator>& generator, DType dtype, Device device,
                bool requires_grad) {
  if (dtype == DType::kDefault) dtype = kIntegerDType;
  check_randperm_dtype(dtype);
  const Tensor keys = make_empty({n}, kIndexDType, device_or_default(device));
  check_randperm_length(n, dtype);
  const Tensor order = make_empty({n}, kIndexDType, keys.device());
  if (n > 0) {
    const Generator::Draw at = generator_or_default(generator, keys.device())->reserve(n);
    RandomKeysCall draw;
    run_draw(op::random_keys, draw, keys, at);
    SortCall sort;
    sort.indices = order;
    sort.x = keys;
    run(op::sort, sort);
  }
  return finish(to_dtype(order, dtype), requires_grad);
}

Tensor rand_like(const Tensor& input, const Ref<Generator>& generator, DType dtype, Device device,
                 bool requires_grad, MemoryFormat memory_format) {
  const Tensor y = empty_like(input, dtype, device, false, memory_format);
  fill_uniform(y, 0, 1, generator);
  return finish(y, requires_grad);
}

Tensor randn_like(const Tensor& input, const Ref<Generator>& generator, DType dtype, Device device,
                  bool requires_grad, MemoryFormat memory_format) {
  const Tensor y = empty_like(input, dtype, device, false, memory_format);
  fill_normal(y, 0, 1, generator);
  return finish(y, requires_grad);
}

Tensor randint_like(const Tensor& input, int64_t low, int64_t high, const Ref<Generator>& generator,
                    DType dtype, Device device, bool requires_grad, MemoryFormat memory_format) {
  const Tensor y = empty_like(input, dtype, device, false, memory_format);
  fill_integers(y, low, high, generator);
  return finish(y, requires_grad);
}

Tensor bernoulli(const Tensor& input, const Ref<Generator>& generator) {
  check_floating(input, "bernoulli_tensor_cpu_p_");
  check_probabilities(input);
  const Tensor y = below_chances(input, generator);
  return record("BernoulliBackward0", y, {input},
                [](BackwardCall& b) { b.results[0] = zeros_like(b.grad()); });
}

const Tensor& uniform_(const Tensor& self, double low, double high,
                       const Ref<Generator>& generator) {
  check_uniform(self.dtype(), low, high);
  return overwrite_at_random("UniformBackward0", self,
                             [&] { fill_uniform(self, low, high, generator); });
}

const Tensor& normal_(const Tensor& self, double mean, double std,
                      const Ref<Generator>& generator) {
  check_normal(std);
  return overwrite_at_random("NormalBackward0", self,
                             [&] { fill_normal(self, mean, std, generator); });
}

const Tensor& bernoulli_(const Tensor& self, double p, const Ref<Generator>& generator) {
  check_probability(p);
  return overwrite_at_random("BernoulliBackward1", self,
                             [&] { fill_bernoulli(self, p, generator); });
}

const Tensor& random_(const Tensor& self, int64_t low, int64_t high,
                      const Ref<Generator>& generator) {
  return overwrite_at_random("RandomBackward0", self,
                             [&] { fill_integers(self, low, high, generator); });
}

}  // namespace dt
