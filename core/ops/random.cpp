// Random tensors. Element i, counted in row-major order, gets the same number on every device, for
// any number of threads and in any memory layout.
#include <limits>

#include "core/autograd/inplace.h"
#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/random.gen.h"
#include "core/runtime/context.h"
#include "core/runtime/generator.h"

namespace dt {
namespace {

Generator::Draw reserve(const Ref<Generator>& generator, const Tensor& x) {
  return generator_or_default(generator, x.device())->reserve(x.numel());
}

// Runs draw(y) on a contiguous y of `dtype` and makes its elements x's.
template <class DrawInto>
void fill(const Tensor& x, DType dtype, DrawInto draw) {
  if (x.numel() == 0) return;
  if (x.impl()->contiguous && x.dtype() == dtype) return draw(x);
  const Tensor y = make_empty(x.sizes(), dtype, x.device());
  draw(y);
  copy_elements(x, y);
}

// Runs a kernel that writes y with the numbers at a place of the sequence.
template <class Call>
void run_draw(Op<Call> op, Call& call, const Tensor& y, const Generator::Draw& at) {
  call.y = y;
  call.state = at.state;
  call.advance = at.advance;
  run(op, call);
}

// Rounding to few digits reaches the upper bound, which is not among the numbers.
void exclude(const Tensor& x, double bound, double instead) {
  const GradMode no_grad(false);
  const Tensor numbers = make_alias(x, x.sizes(), x.strides(), x.offset());
  copy_elements(numbers, masked_fill(numbers, ge(numbers, bound), instead));
}

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

// The integers that a dtype holds without gaps.
struct IntegerRange {
  int64_t low, high;
};

IntegerRange integer_range(DType t) {
  return visit(t, [](auto type) -> IntegerRange {
    using Limits = std::numeric_limits<typename decltype(type)::type>;
    if constexpr (kIsFloating<typename decltype(type)::type>) {
      return {-(int64_t{1} << Limits::digits), int64_t{1} << Limits::digits};
    } else {
      return {int64_t{Limits::lowest()}, int64_t{Limits::max()}};
    }
  });
}

void fill_integers(const Tensor& x, int64_t low, int64_t high, const Ref<Generator>& generator) {
  DT_CHECK(low < high, kRuntimeError,
           "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  const IntegerRange range = integer_range(x.dtype());
  DT_CHECK(low >= range.low && low <= range.high, kRuntimeError, "from is out of bounds for ",
           c_type_word(x.dtype()));
  DT_CHECK(high - 1 >= range.low && high - 1 <= range.high, kRuntimeError,
           "to - 1 is out of bounds for ", c_type_word(x.dtype()));
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

Tensor finish(const Tensor& x, bool requires_grad) {
  if (requires_grad) x.set_requires_grad(true);
  return x;
}

// Overwriting at random cuts the tensor's past off: its gradient is 0.
template <class Write>
const Tensor& overwrite(const char* node_name, const Tensor& self, Write write) {
  inplace(node_name, self, {self}, write,
          [](BackwardCall& b) { b.results[0] = zeros_like(b.grad()); });
  return self;
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
  DT_CHECK(!is_bool(dtype), kNotImplemented, "\"randperm\" not implemented for 'Bool'");
  const Tensor keys = make_empty({n}, kIndexDType, device_or_default(device));
  DT_CHECK(n - 1 <= integer_range(dtype).high, kRuntimeError, "value cannot be converted to type ",
           c_type_word(dtype), " without overflow");
  const Tensor order = make_empty({n}, kIndexDType, keys.device());
  if (n > 0) {
    const Generator::Draw at = generator_or_default(generator, keys.device())->reserve(n);
    RandomKeysCall draw;
    run_draw(op::random_keys, draw, keys, at);
    ArgsortCall sort;
    sort.y = order;
    sort.x = keys;
    run(op::argsort, sort);
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
  if (input.numel() > 0 && input.device() == kCpu) {  // a GPU would have to be waited for
    const GradMode no_grad(false);
    const bool valid = item(amin(input)).to_double() >= 0 && item(amax(input)).to_double() <= 1;
    DT_CHECK(valid, kRuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  }
  const Tensor u = make_empty(input.sizes(), input.dtype(), input.device());
  fill_uniform(u, 0, 1, generator);
  const Tensor y = to_dtype(lt(u, input), input.dtype());
  return record("BernoulliBackward0", y, {input},
                [](BackwardCall& b) { b.results[0] = zeros_like(b.grad()); });
}

const Tensor& uniform_(const Tensor& self, double low, double high,
                       const Ref<Generator>& generator) {
  DT_CHECK(low <= high, kRuntimeError,
           "uniform_ expects to return a [from, to) range, but found from=", low, " > to=", high);
  const double widest =
      visit(is_floating(self.dtype()) ? self.dtype() : kDTypeOf<float>, [](auto type) {
        return static_cast<double>(std::numeric_limits<typename decltype(type)::type>::max());
      });
  DT_CHECK(high - low <= widest, kRuntimeError, "uniform_ expects to-from <= ", widest,
           ", but found to=", high, " and from=", low);
  return overwrite("UniformBackward0", self, [&] { fill_uniform(self, low, high, generator); });
}

const Tensor& normal_(const Tensor& self, double mean, double std,
                      const Ref<Generator>& generator) {
  DT_CHECK(std >= 0, kRuntimeError, "normal expects std >= 0.0, but found std ", std);
  return overwrite("NormalBackward0", self, [&] { fill_normal(self, mean, std, generator); });
}

const Tensor& bernoulli_(const Tensor& self, double p, const Ref<Generator>& generator) {
  DT_CHECK(p >= 0 && p <= 1, kRuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  return overwrite("BernoulliBackward1", self, [&] { fill_bernoulli(self, p, generator); });
}

const Tensor& random_(const Tensor& self, int64_t low, int64_t high,
                      const Ref<Generator>& generator) {
  return overwrite("RandomBackward0", self, [&] { fill_integers(self, low, high, generator); });
}

}  // namespace dt
