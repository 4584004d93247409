// Distributions that are made of uniform or normal numbers, and those with kernels of their own.
#include <cmath>
#include <limits>

#include "core/autograd/record.h"
#include "core/ops/checks.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/pointwise_math.gen.h"
#include "core/ops/random.gen.h"
#include "core/ops/random/checks.h"
#include "core/ops/random/fill.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/sorting.gen.h"
#include "core/ops/views.gen.h"

namespace dt {
namespace {

constexpr double kPi = 3.141592653589793;

Tensor uniform(IntList sizes, DType dtype, Device device, const Ref<Generator>& generator) {
  const Tensor u = make_empty(sizes, dtype, device);
  fill_uniform(u, 0, 1, generator);
  return u;
}

// As kernels read them.
Tensor as_reals(const Tensor& x) {
  const GradMode no_grad(false);
  return contiguous(to_dtype(x, kRealDType));
}

// Elements of self become formula(u) of uniform numbers u in [0, 1).
template <class Formula>
const Tensor& transformed(const char* node_name, const Tensor& self, DType dtype,
                          const Ref<Generator>& generator, Formula formula) {
  return overwrite_at_random(node_name, self, [&] {
    const GradMode no_grad(false);
    copy_elements(self, formula(uniform(self.sizes(), dtype, self.device(), generator)));
  });
}

// Numbers of the exponential distribution: y with its elements written, or another tensor, made of
// uniform numbers in y. y is contiguous and of a dtype of arithmetic. What would be 0 is half of
// the distance of 1 to the number before it.
Tensor exponential(const Tensor& y, double lambd, const Ref<Generator>& generator) {
  if (y.numel() == 0) return y;
  const Generator::Draw at = reserve(generator, y);
  ExponentialCall call;
  call.y = y;
  call.state = at.state;
  call.advance = at.advance;
  call.lambd = lambd;
  if (run_shortcut(op::exponential, call)) return y;
  UniformCall uniform;
  uniform.low = 0;
  uniform.high = 1;
  run_draw(op::uniform, uniform, y, at);
  const double least = y.dtype() == kRealDType ? std::numeric_limits<double>::epsilon() / 2
                                               : double{std::numeric_limits<float>::epsilon()} / 2;
  return div_(clamp_min_(neg_(log1p_(neg(y))), least), lambd);
}

// The largest of p / e, with e of the exponential distribution, are a choice without replacement
// (P. S. Efraimidis, P. G. Spirakis, Inf. Process. Lett. 97 (2006), 181).
Tensor choose_different(const Tensor& p, int64_t wanted, const Ref<Generator>& generator) {
  const Tensor e = exponential(make_empty(p.sizes(), p.dtype(), p.device()), 1, generator);
  return std::get<1>(topk(div(p, e), wanted, -1));
}

// One uniform number for each choice.
Tensor choose_independently(const Tensor& p, int64_t wanted, const Ref<Generator>& generator) {
  const Tensor u = uniform({p.sizes()[0], wanted}, kRealDType, p.device(), generator);
  const Tensor y = make_empty(u.sizes(), kIndexDType, p.device());
  ChooseCall call;
  call.y = y;
  call.p = p;
  call.u = u;
  if (run_shortcut(op::choose, call)) return y;
  const Tensor sums = cumsum(p, -1, kRealDType);
  const int64_t n = p.sizes()[1];
  // A product that is rounded up must stay below the last sum.
  const Tensor targets = mul(mul(u, slice(sums, 1, n - 1, n, 1)), 1 - 0x1p-52);
  return clamp_max(searchsorted(sums, targets, false, true), n - 1);
}

}  // namespace

Tensor multinomial(const Tensor& input, int64_t num_samples, bool replacement,
                   const Ref<Generator>& generator) {
  check_multinomial(input, num_samples, replacement);
  const GradMode no_grad(false);
  const bool is_row = input.ndim() == 1, independent = replacement || num_samples == 1;
  const Tensor wide = contiguous(to_dtype(input, info(input.dtype()).compute));
  const Tensor p = is_row ? unsqueeze(wide, 0) : wide;
  Tensor y = make_empty({p.sizes()[0], num_samples}, kIndexDType, p.device());
  if (p.numel() > 0) {
    if (!independent) check_weights(p);
    y = independent ? choose_independently(p, num_samples, generator)
                    : choose_different(p, num_samples, generator);
    if (independent && p.device() == kCpu && item(amin(y)).to_int64() < 0)
      fail_weights(p, replacement && num_samples > 1);
  }
  return is_row ? reshape(y, {num_samples}) : y;
}

Tensor bernoulli_p(const Tensor& input, double p, const Ref<Generator>& generator) {
  check_probability(p);
  const Tensor y = empty_like(input);
  {
    const GradMode no_grad(false);
    bernoulli_(y, p, generator);
  }
  return record("BernoulliBackward2", y, {input},
                [](BackwardCall& b) { b.results[0] = zeros_like(b.grad()); });
}

const Tensor& bernoulli_tensor_(const Tensor& self, const Tensor& p,
                                const Ref<Generator>& generator) {
  check_floating(p, "bernoulli_tensor_cpu_self_");
  check_probabilities(p);
  const Tensor chances = broadcast_to(p, self.sizes());
  return transformed("BernoulliBackward0", self, info(p.dtype()).compute, generator,
                     [&](const Tensor& u) { return lt(u, chances); });
}

const Tensor& random_from_(const Tensor& self, int64_t low, const Ref<Generator>& generator) {
  const int64_t last = largest_integer(self.dtype());
  return random_(self, low, last == std::numeric_limits<int64_t>::max() ? last : last + 1,
                 generator);
}

Tensor poisson(const Tensor& input, const Ref<Generator>& generator) {
  check_rates(input);
  const Tensor rates = as_reals(input);
  const Tensor counts = make_empty(input.sizes(), kRealDType, input.device());
  PoissonCall call;
  call.rate = rates;
  if (input.numel() > 0) run_draw(op::poisson, call, counts, reserve(generator, counts));
  const Tensor y = to_dtype(counts, input.dtype());
  return record("PoissonBackward0", y, {input},
                [](BackwardCall& b) { b.results[0] = zeros_like(b.grad()); });
}

Tensor binomial(const Tensor& count, const Tensor& prob, const Ref<Generator>& generator) {
  check_binomial(count, prob);
  const std::vector<Tensor> operands = broadcast_tensors({count, prob});
  const Tensor trials = as_reals(operands[0]), chances = as_reals(operands[1]);
  const Tensor counts = make_empty(trials.sizes(), kRealDType, trials.device());
  BinomialCall call;
  call.count = trials;
  call.prob = chances;
  if (counts.numel() > 0) run_draw(op::binomial, call, counts, reserve(generator, counts));
  const Tensor y = to_dtype(counts, count.dtype());
  return record("BinomialBackward0", y, {count, prob}, [](BackwardCall& b) {
    for (int i = 0; i < 2; ++i) {
      if (b.wants(i)) b.results[i] = zeros_like(b.grad());
    }
  });
}

const Tensor& exponential_(const Tensor& self, double lambd, const Ref<Generator>& generator) {
  check_exponential(self.dtype(), lambd);
  return overwrite_at_random("ExponentialBackward0", self, [&] {
    const GradMode no_grad(false);
    const DType dtype = info(self.dtype()).compute;
    const bool at_once = self.impl()->contiguous && self.dtype() == dtype;
    const Tensor y = at_once ? self : make_empty(self.sizes(), dtype, self.device());
    const Tensor drawn = exponential(y, lambd, generator);
    if (drawn.impl() != self.impl()) copy_elements(self, drawn);
  });
}

const Tensor& geometric_(const Tensor& self, double p, const Ref<Generator>& generator) {
  check_geometric(self.dtype(), p);
  return transformed("GeometricBackward0", self, kRealDType, generator, [=](const Tensor& u) {
    return clamp_min_(ceil_(div_(log1p_(neg_(u)), std::log1p(-p))), 1);
  });
}

const Tensor& cauchy_(const Tensor& self, double median, double sigma,
                      const Ref<Generator>& generator) {
  check_cauchy(self.dtype(), sigma);
  return transformed("CauchyBackward0", self, kRealDType, generator, [=](const Tensor& u) {
    return add_(mul_(tan_(mul_(sub_(u, 0.5), kPi)), sigma), median);
  });
}

const Tensor& log_normal_(const Tensor& self, double mean, double std,
                          const Ref<Generator>& generator) {
  check_log_normal(self.dtype(), std);
  return overwrite_at_random("LogNormalBackward0", self, [&] {
    const GradMode no_grad(false);
    const Tensor x = make_empty(self.sizes(), info(self.dtype()).compute, self.device());
    fill_normal(x, mean, std, generator);
    copy_elements(self, exp_(x));
  });
}

}  // namespace dt
