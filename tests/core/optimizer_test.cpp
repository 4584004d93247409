// The optimizers of C, C++ and Lua: many steps against the papers' formulas in double, state that
// is saved and loaded, schedules. (Python's own optimizers are compared with PyTorch's.)
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/ops/copy.h"
#include "core/ops/ops.h"
#include "core/ops/options.h"
#include "core/optim/grad_scaler.h"
#include "core/optim/lr_scheduler.h"
#include "core/optim/schedules.gen.h"
#include "core/optim/optimizer.h"
#include "core/optim/optimizers.gen.h"

namespace dt::test {
namespace {

int failures = 0;

void check(bool good, const std::string& what) {
  if (good) return;
  std::printf("FAIL %s\n", what.c_str());
  ++failures;
}

template <class F>
void check_refused(F&& call, const std::string& words) {
  try {
    call();
    check(false, "not refused: " + words);
  } catch (const Error& e) {
    check(std::string(e.what()).find(words) != std::string::npos, e.what());
  }
}

constexpr int kSteps = 5, kSize = 3;

// The gradient of element i in a step: any numbers that change sign.
double gradient(int step, int i) {
  return std::sin(1.0 + 3 * step + 7 * i);
}

Tensor parameter() {
  const Tensor p = ones({kSize}, DType::FLOAT64);
  p.set_requires_grad(true);
  return p;
}

void step(Optimizer& o, const Tensor& p, int number) {
  const Tensor grad = make_empty({kSize}, DType::FLOAT64, kCpu);
  for (int i = 0; i < kSize; ++i) grad.data_as<double>()[i] = gradient(number, i);
  p.set_grad(grad);
  o.step();
}

// One number under an optimizer, as its paper says. Returns its value after all steps.
using Rule = std::function<double(int element)>;

double sgd(const SgdOptions& o, int element) {
  double p = 1, buffer = 0;
  for (int t = 0; t < kSteps; ++t) {
    double g = (o.maximize ? -1 : 1) * gradient(t, element) + o.weight_decay * p;
    if (o.momentum != 0) {
      buffer = t == 0 ? g : o.momentum * buffer + (1 - o.dampening) * g;
      g = o.nesterov ? g + o.momentum * buffer : buffer;
    }
    p -= o.lr * g;
  }
  return p;
}

template <class Options>
double adam(const Options& o, bool decoupled, int element) {
  double p = 1, m = 0, v = 0, top = 0;
  for (int t = 1; t <= kSteps; ++t) {
    double g = (o.maximize ? -1 : 1) * gradient(t - 1, element);
    if (decoupled)
      p -= o.lr * o.weight_decay * p;
    else
      g += o.weight_decay * p;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    top = std::max(top, v);
    const double mean = m / (1 - std::pow(o.beta1, t));
    const double square = (o.amsgrad ? top : v) / (1 - std::pow(o.beta2, t));
    p -= o.lr * mean / (std::sqrt(square) + o.eps);
  }
  return p;
}

void check_steps(const std::string& name, const Tensor& p, const Ref<Optimizer>& o,
                 const Rule& rule) {
  for (int t = 0; t < kSteps; ++t) step(*o, p, t);
  for (int i = 0; i < kSize; ++i) {
    const double got = p.data_as<double>()[i], wanted = rule(i);
    check(std::fabs(got - wanted) < 1e-12, text(name, ": got ", got, ", expected ", wanted));
  }
}

SgdOptions sgd_options(double momentum, double dampening, double decay, bool nesterov, bool up) {
  return {0.1, momentum, dampening, decay, nesterov, up};
}

template <class Options>
Options adam_options(double decay, bool amsgrad, bool maximize) {
  return {0.1, 0.8, 0.95, 1e-8, decay, amsgrad, maximize};
}

void check_formulas() {
  for (const SgdOptions& o :
       {sgd_options(0, 0, 0, false, false), sgd_options(0, 0, 0.1, false, true),
        sgd_options(0.9, 0, 0, false, false), sgd_options(0.9, 0.3, 0.1, false, false),
        sgd_options(0.9, 0, 0.1, true, true)}) {
    const Tensor p = parameter();
    check_steps("SGD", p, make_sgd({p}, o), [&](int i) { return sgd(o, i); });
  }
  for (const bool amsgrad : {false, true}) {
    for (const bool maximize : {false, true}) {
      const auto o = adam_options<AdamOptions>(0.1, amsgrad, maximize);
      const Tensor p = parameter();
      check_steps("Adam", p, make_adam({p}, o), [&](int i) { return adam(o, false, i); });
      const auto w = adam_options<AdamwOptions>(0.1, amsgrad, maximize);
      const Tensor q = parameter();
      check_steps("AdamW", q, make_adamw({q}, w), [&](int i) { return adam(w, true, i); });
    }
  }
}

// A parameter whose gradients begin later starts its momentum then, beside one that has gone on.
void check_late_parameter() {
  const SgdOptions options = sgd_options(0.9, 0, 0, false, false);
  const Tensor early = parameter(), late = parameter();
  const Ref<Optimizer> o = make_sgd({early, late}, options);
  step(*o, early, 0);
  for (int t = 0; t < kSteps; ++t) {
    early.set_grad(zeros({kSize}, DType::FLOAT64));
    step(*o, late, t);
  }
  for (int i = 0; i < kSize; ++i) {
    double p = 1 - 0.1 * gradient(0, i), buffer = gradient(0, i);
    for (int t = 0; t < kSteps; ++t) p -= 0.1 * (buffer *= 0.9);
    check(std::fabs(early.data_as<double>()[i] - p) < 1e-12, "the early parameter");
    check(std::fabs(late.data_as<double>()[i] - sgd(options, i)) < 1e-12, "the late parameter");
  }
}

using Make = std::function<Ref<Optimizer>(const Tensor&)>;

// Training goes on from a loaded state as if it had not been interrupted, also when the state comes
// in another dtype and memory order.
void check_resume(const std::string& name, const Make& make) {
  const Tensor p = full({2, 3, 4, 5}, 1, DType::FLOAT64);
  const Tensor q = contiguous(p, MemoryFormat::kChannelsLast);
  const Tensor grad = full({2, 3, 4, 5}, 0.5, DType::FLOAT64);
  const Ref<Optimizer> first = make(p), second = make(q);
  p.set_grad(grad);
  first->step();
  copy_elements(q, p);
  const auto [names, tensors] = first->state_dict();
  std::vector<Tensor> narrow;
  for (const Tensor& x : tensors) narrow.push_back(to_dtype(x, DType::FLOAT32));
  second->load_state_dict(names, narrow);
  p.set_grad(grad);
  first->step();
  q.set_grad(grad);
  second->step();
  check(allclose(p, q, 1e-6, 1e-7), name + " does not go on as it was");
}

void check_state() {
  check_resume("SGD",
               [](const Tensor& p) { return make_sgd({p}, sgd_options(0.9, 0, 0, false, false)); });
  check_resume("Adam", [](const Tensor& p) {
    return make_adam({p}, adam_options<AdamOptions>(0.1, true, false));
  });

  const Tensor p = parameter(), number = zeros({}), vector = ones({kSize}, DType::FLOAT64);
  const Ref<Optimizer> o = make_adam({p}, {});
  const auto load = [&](std::vector<std::string> names, std::vector<Tensor> tensors) {
    o->load_state_dict(names, tensors);
  };
  check_refused([&] { load({"0.step"}, {number}); }, "missing key '0.exp_avg'");
  check_refused([&] { load({"1.step"}, {number}); }, "unexpected key '1.step'");
  check_refused([&] { load({"0.step", "0.step"}, {number, number}); }, "appears twice");
  check_refused(
      [&] {
        load({"0.step", "0.exp_avg", "0.exp_avg_sq"}, {number, number, vector});
      },
      "'0.exp_avg' has size []");
  check(std::get<0>(o->state_dict()).empty(), "a refused state changed something");
  step(*o, p, 0);
  load({}, {});
  check(std::get<0>(o->state_dict()).empty(), "an empty state dict leaves state behind");
}

// The closed forms of the schedules, which step by recursion.
void check_schedules() {
  const Tensor p = parameter();
  const Ref<Optimizer> a = make_sgd({p}, {}), b = make_sgd({p}, {});
  for (Optimizer* o : {a.get(), b.get()}) o->group(0).set("lr", 0.4);  // where schedules start
  const Ref<LrScheduler> steps = make_step_lr(a, 3, 0.5);
  const Ref<LrScheduler> cosine = make_cosine_annealing_lr(b, 10, 0.1);
  for (int epoch = 1; epoch <= 25; ++epoch) {
    steps->step();
    cosine->step();
    const double halved = 0.4 * std::pow(0.5, epoch / 3);
    const double on_cosine = 0.1 + 0.3 * (1 + std::cos(std::acos(-1.0) * epoch / 10)) / 2;
    check(std::fabs(a->group(0).get("lr") - halved) < 1e-12, text("StepLR in epoch ", epoch));
    check(std::fabs(b->group(0).get("lr") - on_cosine) < 1e-12,
          text("CosineAnnealingLR in epoch ", epoch));
  }
}

// Eight steps of 0.001 from 1, where a step of bfloat16 is 0.0078: without a master all are lost.
void check_masters() {
  const auto make = [](double value) {
    const Tensor p = full({kSize}, value, DType::BFLOAT16);
    p.set_requires_grad(true);
    return p;
  };
  const auto walk = [](Optimizer& o, const Tensor& p, int steps) {
    for (int i = 0; i < steps; ++i) {
      p.set_grad(full({kSize}, -1.0, DType::BFLOAT16));
      o.step();
    }
  };
  const auto at = [](const Tensor& p) { return item(select(p.detach(), 0, 1)).to_double(); };
  const Tensor p = make(1), lost = make(1), other = make(1);
  const Ref<Optimizer> a = make_sgd({p}, {}), b = make_sgd({lost}, {}), c = make_sgd({other}, {});
  a->use_master_weights();
  walk(*a, p, 5);
  check_refused([&] { a->use_stochastic_rounding(); }, "before the first one");
  const auto [names, tensors] = a->state_dict();
  check(names == std::vector<std::string>{"0.master"}, "a master in the state dict");
  check(tensors[0].dtype() == DType::FLOAT32 && std::fabs(at(tensors[0]) - 1.005) < 1e-6, "master");
  c->use_master_weights();
  c->load_state_dict(names, tensors);
  walk(*c, other, 3);
  check(at(other) == 1.0078125, "a step of a loaded master, rounded");
  walk(*b, lost, 8);
  check(at(lost) == 1, "steps without a master");
}

// Losses of 2w: the second step overflows and is left out; two finite ones let the scale grow.
void check_scaler() {
  const Tensor w = ones({1});
  w.set_requires_grad(true);
  const Ref<Optimizer> optimizer = make_sgd({w}, {});
  optimizer->group(0).set("lr", 0.125);
  const Ref<GradScaler> scaler = GradScaler::create({8, 4, 0.25, 2});
  check_refused([&] { scaler->step(optimizer); }, "no loss was scaled");
  const double expected[][3] = {{0.75, 8, 1}, {0.75, 2, 0}, {0.5, 2, 1}, {0.25, 8, 0}};
  for (int i = 0; i < 4; ++i) {
    optimizer->zero_grad(true);
    w.set_grad(mul(scaler->scale(full({1}, 2.0)), i == 1 ? HUGE_VAL : 1.0));
    if (i == 2) scaler->unscale_(optimizer);
    scaler->step(optimizer);
    check_refused([&] { scaler->step(optimizer); }, "already been called since");
    scaler->update({});
    const Tensor state = scaler->get_state();
    const double found[] = {item(w.detach()).to_double(), item(select(state, 0, 0)).to_double(),
                            item(select(state, 0, 1)).to_double()};
    for (int k = 0; k < 3; ++k) check(found[k] == expected[i][k], text("scaled step ", i, " ", k));
  }
  check_refused([&] { scaler->update({}); }, "prior to update");
  const Ref<GradScaler> next = GradScaler::create({1, 2, 0.5, 1});
  next->set_state(scaler->get_state());
  check(item(next->scale(ones({}))).to_double() == 8, "a state that was set");
  check_refused([] { GradScaler::create({1, 1, 0.5, 1}); }, "growth factor");
}

}  // namespace
}  // namespace dt::test

int main() {
  using namespace dt::test;
  check_formulas();
  check_late_parameter();
  check_state();
  check_schedules();
  check_masters();
  check_scaler();
  std::printf(failures ? "%d failures\n" : "all optimizers agree\n", failures);
  return failures != 0;
}
