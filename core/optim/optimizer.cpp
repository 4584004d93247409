#include "core/optim/optimizer.h"

#include <cmath>
#include <cstring>
#include <map>

#include "core/ops/copy.h"
#include "core/ops/options.h"
#include "core/optim/steps.h"
#include "core/runtime/context.h"

namespace dt {

namespace {

// A step that makes state makes it anew at each replay.
void check_not_capturing() {
  DT_CHECK(!context().graph, kRuntimeError,
           "the first step makes the optimizer's state: run it once before a step is captured");
}

}  // namespace

double ParamGroup::get(const char* name) const {
  for (const Hyper& h : hyper) {
    if (std::strcmp(h.name, name) == 0) return h.value;
  }
  fail(Code::kValueError, "this optimizer has no '", name, "'");
}

void ParamGroup::set(const char* name, double value) {
  for (Hyper& h : hyper) {
    if (std::strcmp(h.name, name) == 0) {
      h.value = value;
      if (rate_on_device.defined() && std::strcmp(name, "lr") == 0) fill_(rate_on_device, value);
      return;
    }
  }
  fail(Code::kValueError, "this optimizer has no '", name, "'");
}

Operand ParamGroup::rate(Device device) {
  if (device == kCpu) return get("lr");
  if (!rate_on_device.defined()) {
    check_not_capturing();
    rate_on_device = full({}, get("lr"), DType::FLOAT64, device);
  }
  return rate_on_device;
}

Optimizer::Optimizer(TensorList params, std::vector<Hyper> hyper,
                     std::vector<const char*> slot_names)
    : slot_names_(std::move(slot_names)) {
  DT_CHECK(!params.empty(), kValueError, "optimizer got an empty parameter list");
  ParamGroup first;
  first.hyper = std::move(hyper);
  first.initial_lr = first.get("lr");
  groups_.push_back(std::move(first));
  fill(groups_[0], params);
}

void Optimizer::fill(ParamGroup& group, TensorList params) const {
  for (const Tensor& p : params) {
    DT_CHECK(p.is_leaf(), kValueError, "can't optimize a non-leaf Tensor");
    for (const ParamGroup& g : groups_) {
      for (const ParamState& s : g.params) {
        DT_CHECK(!s.param.is_same(p), kValueError,
                 "some parameters appear in more than one parameter group");
      }
    }
    group.params.push_back({p, std::vector<Tensor>(slot_names_.size())});
  }
}

void Optimizer::add_param_group(TensorList params) {
  ParamGroup group{{}, groups_[0].hyper, groups_[0].initial_lr, {}};
  fill(group, params);
  groups_.push_back(std::move(group));
}

ParamGroup& Optimizer::group(int64_t i) {
  DT_CHECK(i >= 0 && i < group_count(), kIndexError, "parameter group ", i, " of ", group_count());
  return groups_[i];
}

void Optimizer::zero_grad(bool set_to_none) {
  const GradMode no_grad(false);
  for (ParamGroup& g : groups_) {
    for (ParamState& s : g.params) {
      const Tensor grad = s.param.grad();
      if (!grad.defined()) continue;
      if (set_to_none)
        s.param.set_grad(Tensor());
      else
        s.param.set_grad(zeros_like(grad));
    }
  }
}

void Optimizer::step() {
  for (ParamGroup& g : groups_) {
    std::vector<ParamState*> active;
    std::vector<Tensor> grads;
    active.reserve(g.params.size());
    grads.reserve(g.params.size());
    for (ParamState& s : g.params) {
      const Tensor grad = s.param.grad();
      if (!grad.defined()) continue;
      active.push_back(&s);
      grads.push_back(grad);
    }
    if (!active.empty()) step_group(g, active, grads);
  }
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> Optimizer::state_dict() const {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  int64_t number = 0;
  for (const ParamGroup& g : groups_) {
    for (const ParamState& s : g.params) {
      for (size_t k = 0; k < s.slots.size(); ++k) {
        if (!s.slots[k].defined()) continue;
        names.push_back(text(number, ".", slot_names_[k]));
        tensors.push_back(s.slots[k]);
      }
      ++number;
    }
  }
  return {names, tensors};
}

void Optimizer::load_state_dict(const std::vector<std::string>& names, TensorList tensors) {
  DT_CHECK(static_cast<int64_t>(names.size()) == tensors.size(), kValueError, "got ", names.size(),
           " names and ", tensors.size(), " tensors");
  std::map<std::string, std::pair<Tensor*, Tensor>> slots;  // by key: the slot and its parameter
  int64_t number = 0;
  for (ParamGroup& g : groups_) {
    for (ParamState& s : g.params) {
      for (size_t k = 0; k < s.slots.size(); ++k)
        slots[text(number, ".", slot_names_[k])] = {&s.slots[k], s.param};
      ++number;
    }
  }
  std::vector<std::pair<Tensor*, Tensor>> loads;  // nothing is changed before all names are found
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = slots.find(names[i]);
    DT_CHECK(found != slots.end(), kRuntimeError, "unexpected key '", names[i],
             "' in the optimizer's state");
    const auto& [slot, param] = found->second;
    DT_CHECK(tensors[i].sizes() == param.sizes() || tensors[i].ndim() == 0, kRuntimeError, "'",
             names[i], "' has size ", tensors[i].sizes(), ", the parameter ", param.sizes());
    loads.emplace_back(slot, clone(tensors[i].detach()));
  }
  for (auto& [slot, value] : loads) *slot = value;
}

namespace {

Tensor zeros_as(const Tensor& p) {
  return zeros_like(p.detach());
}

std::vector<Tensor> params_of(const std::vector<ParamState*>& active) {
  std::vector<Tensor> list;
  list.reserve(active.size());
  for (const ParamState* s : active) list.push_back(s->param);
  return list;
}

std::vector<Tensor> slot_of(const std::vector<ParamState*>& active, int k) {
  std::vector<Tensor> list;
  list.reserve(active.size());
  for (const ParamState* s : active) list.push_back(s->slots[k]);
  return list;
}

void check_not_negative(double v, const char* what) {
  DT_CHECK(v >= 0, kValueError, "Invalid ", what, ": ", v);
}

class Sgd final : public Optimizer {
 public:
  Sgd(TensorList params, const SgdOptions& o)
      : Optimizer(params,
                  {{"lr", o.lr},
                   {"momentum", o.momentum},
                   {"dampening", o.dampening},
                   {"weight_decay", o.weight_decay}},
                  {"momentum_buffer"}),
        nesterov_(o.nesterov),
        maximize_(o.maximize) {
    check_not_negative(o.lr, "learning rate");
    check_not_negative(o.momentum, "momentum value");
    check_not_negative(o.weight_decay, "weight_decay value");
    DT_CHECK(!o.nesterov || (o.momentum > 0 && o.dampening == 0), kValueError,
             "Nesterov momentum requires a momentum and zero dampening");
  }

 private:
  void step_group(ParamGroup& g, std::vector<ParamState*>& active, TensorList grads) override {
    // Parameters that step for the first time start their buffer; the others continue theirs.
    for (const bool first : {true, false}) {
      std::vector<ParamState*> part;
      std::vector<Tensor> part_grads;
      for (size_t i = 0; i < active.size(); ++i) {
        if (active[i]->slots[0].defined() == first) continue;
        part.push_back(active[i]);
        part_grads.push_back(grads[i]);
      }
      if (part.empty()) continue;
      const bool has_momentum = g.get("momentum") != 0;
      if (first && has_momentum) {
        check_not_capturing();
        for (ParamState* s : part) s->slots[0] = zeros_as(s->param);
      }
      sgd_step(params_of(part), part_grads, has_momentum ? slot_of(part, 0) : std::vector<Tensor>(),
               g.rate(part[0]->param.device()), g.get("momentum"), g.get("dampening"),
               g.get("weight_decay"), nesterov_, maximize_, first);
    }
  }

  bool nesterov_, maximize_;
};

struct AdamSettings {
  double lr, beta1, beta2, eps, weight_decay;
  bool amsgrad, maximize, decoupled;
};

class Adam final : public Optimizer {
 public:
  Adam(TensorList params, const AdamSettings& o)
      : Optimizer(params,
                  {{"lr", o.lr},
                   {"beta1", o.beta1},
                   {"beta2", o.beta2},
                   {"eps", o.eps},
                   {"weight_decay", o.weight_decay}},
                  o.amsgrad
                      ? std::vector<const char*>{"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}
                      : std::vector<const char*>{"step", "exp_avg", "exp_avg_sq"}),
        amsgrad_(o.amsgrad),
        maximize_(o.maximize),
        decoupled_(o.decoupled) {
    check_not_negative(o.lr, "learning rate");
    check_not_negative(o.eps, "epsilon value");
    check_not_negative(o.weight_decay, "weight_decay value");
    DT_CHECK(o.beta1 >= 0 && o.beta1 < 1, kValueError,
             "Invalid beta parameter at index 0: ", o.beta1);
    DT_CHECK(o.beta2 >= 0 && o.beta2 < 1, kValueError,
             "Invalid beta parameter at index 1: ", o.beta2);
  }

 private:
  void step_group(ParamGroup& g, std::vector<ParamState*>& active, TensorList grads) override {
    for (ParamState* s : active) {
      if (s->slots[0].defined()) continue;
      check_not_capturing();
      s->slots[0] = zeros({}, DType::FLOAT32, s->param.device());
      for (size_t k = 1; k < s->slots.size(); ++k) s->slots[k] = zeros_as(s->param);
    }
    adam_step(params_of(active), grads, slot_of(active, 1), slot_of(active, 2),
              amsgrad_ ? slot_of(active, 3) : std::vector<Tensor>(), slot_of(active, 0),
              g.rate(active[0]->param.device()), g.get("beta1"), g.get("beta2"), g.get("eps"),
              g.get("weight_decay"), amsgrad_, maximize_, decoupled_);
  }

  bool amsgrad_, maximize_, decoupled_;
};

class StepLr final : public LrScheduler {
 public:
  StepLr(Ref<Optimizer> o, int64_t step_size, double gamma)
      : LrScheduler(std::move(o)), step_size_(step_size), gamma_(gamma) {}

 private:
  double next_lr(int64_t epoch, double lr, double) const override {
    return epoch % step_size_ == 0 ? lr * gamma_ : lr;
  }

  int64_t step_size_;
  double gamma_;
};

// https://arxiv.org/abs/1608.03983, in the recursive form of torch's CosineAnnealingLR.
class CosineAnnealingLr final : public LrScheduler {
 public:
  CosineAnnealingLr(Ref<Optimizer> o, int64_t t_max, double eta_min)
      : LrScheduler(std::move(o)), t_max_(t_max), eta_min_(eta_min) {}

 private:
  double next_lr(int64_t epoch, double lr, double initial_lr) const override {
    const double pi = 3.14159265358979323846;
    if ((epoch - 1 - t_max_) % (2 * t_max_) == 0) {
      return lr + (initial_lr - eta_min_) * (1 - std::cos(pi / t_max_)) / 2;
    }
    return (1 + std::cos(pi * epoch / t_max_)) / (1 + std::cos(pi * (epoch - 1) / t_max_)) *
               (lr - eta_min_) +
           eta_min_;
  }

  int64_t t_max_;
  double eta_min_;
};

}  // namespace

Ref<Optimizer> make_sgd(TensorList params, const SgdOptions& o) {
  return Ref<Optimizer>::adopt(new Sgd(params, o));
}

Ref<Optimizer> make_adam(TensorList params, const AdamOptions& o) {
  return Ref<Optimizer>::adopt(new Adam(
      params, {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize, false}));
}

Ref<Optimizer> make_adamw(TensorList params, const AdamwOptions& o) {
  return Ref<Optimizer>::adopt(new Adam(
      params, {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize, true}));
}

void LrScheduler::step() {
  ++epoch_;
  for (int64_t i = 0; i < optimizer_->group_count(); ++i) {
    ParamGroup& g = optimizer_->group(i);
    g.set("lr", next_lr(epoch_, g.get("lr"), g.initial_lr));
  }
}

Ref<LrScheduler> make_step_lr(const Ref<Optimizer>& optimizer, int64_t step_size, double gamma) {
  DT_CHECK(step_size > 0, kValueError, "step_size must be positive, got ", step_size);
  return Ref<LrScheduler>::adopt(new StepLr(optimizer, step_size, gamma));
}

Ref<LrScheduler> make_cosine_annealing_lr(const Ref<Optimizer>& optimizer, int64_t t_max,
                                          double eta_min) {
  DT_CHECK(t_max > 0, kValueError, "T_max must be positive, got ", t_max);
  return Ref<LrScheduler>::adopt(new CosineAnnealingLr(optimizer, t_max, eta_min));
}

}  // namespace dt
