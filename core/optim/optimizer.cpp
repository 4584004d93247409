#include "core/optim/optimizer.h"

#include <algorithm>
#include <cstring>

#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/random.gen.h"
#include "core/optim/steps.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

constexpr char kMaster[] = ".master";  // of a parameter's key in a state dict

// A state's first value, like the parameter in memory.
Tensor new_slot(const OptimizerRow::State& state, const Tensor& param, const Settings& settings) {
  const double value = state.initial(settings);
  return state.is_scalar ? full({}, value, kScalarDType, param.device())
                         : full_like(param.detach(), value);
}

void forget(const std::vector<ParamState*>& params) {
  for (ParamState* s : params) {
    std::fill(s->slots.begin(), s->slots.end(), Tensor());
    s->master = Tensor();
  }
}

}  // namespace

int OptimizerRow::index_of(const char* setting) const {
  for (int64_t i = 0; i < settings.size(); ++i) {
    if (std::strcmp(settings[i].name, setting) == 0) return static_cast<int>(i);
  }
  fail(Code::kValueError, name, " has no setting '", setting, "'");
}

bool ParamState::is_new() const {
  return std::none_of(slots.begin(), slots.end(), [](const Tensor& x) { return x.defined(); });
}

void ParamGroup::set(const char* name, double value) {
  settings_[row_->index_of(name)] = value;
  if (rate_on_device_.defined() && std::strcmp(name, "lr") == 0) fill_(rate_on_device_, value);
}

Operand ParamGroup::rate(const std::vector<ParamState*>& active) {
  const auto found = std::find_if(active.begin(), active.end(),
                                  [](const ParamState* s) { return s->param.device() != kCpu; });
  if (found == active.end()) return get("lr");
  const Device device = (*found)->param.device();
  if (!rate_on_device_.defined() || rate_on_device_.device() != device) {
    check_not_capturing();
    rate_on_device_ = full({}, get("lr"), kRealDType, device);
  }
  return rate_on_device_;
}

Optimizer::Optimizer(const OptimizerRow& row, TensorList params, Settings settings) : row_(row) {
  row.check(settings);
  DT_CHECK(!params.empty(), kValueError, "optimizer got an empty parameter list");
  groups_.emplace_back(row, std::move(settings));
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
    group.params.push_back({p, std::vector<Tensor>(row_.states.size())});
  }
}

void Optimizer::add_param_group(TensorList params) {
  ParamGroup group(row_, groups_[0].settings());
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

std::vector<Tensor> Optimizer::grads() const {
  std::vector<Tensor> grads;
  for (const ParamGroup& g : groups_) {
    for (const ParamState& s : g.params) {
      if (const Tensor grad = s.param.grad(); grad.defined()) grads.push_back(grad);
    }
  }
  return grads;
}

void Optimizer::step_unless(Tensor found_inf) {
  if (found_inf.defined() && (row_.reads_first || found_inf.device() == kCpu)) {
    if (item(found_inf).to_double() != 0) return;
    found_inf = Tensor();
  }
  for (ParamGroup& g : groups_) {
    std::vector<ParamState*> active[2];  // those that have stepped, and those that have not
    std::vector<Tensor> grads[2];
    active[0].reserve(g.params.size());
    grads[0].reserve(g.params.size());
    for (ParamState& s : g.params) {
      const Tensor grad = s.param.grad();
      if (!grad.defined()) continue;
      const int part = row_.reads_first && s.is_new();
      active[part].push_back(&s);
      grads[part].push_back(grad);
    }
    for (const int part : {0, 1}) {
      if (!active[part].empty()) step_part(g, active[part], grads[part], found_inf);
    }
  }
}

void Optimizer::step_part(ParamGroup& g, const std::vector<ParamState*>& active,
                          const std::vector<Tensor>& grads, const Tensor& found_inf) const {
  const GradMode no_grad(false);
  const bool first = active[0]->is_new();
  std::vector<Tensor> params, given, states;
  params.reserve(active.size());
  given.reserve(active.size());
  states.reserve(active.size() * static_cast<size_t>(row_.states.size()));
  for (size_t i = 0; i < active.size(); ++i) {
    params.push_back(computed(*active[i]));
    given.push_back(to_dtype(grads[i], params[i].dtype()));
    make_slots(*active[i], params[i], g.settings());
  }
  for (int64_t k = 0; k < row_.states.size(); ++k) {
    for (const ParamState* s : active) states.push_back(s->slots[k]);
  }
  try {
    update_parameters(row_, params, given, states, g.rate(active), g.settings(), first, found_inf);
  } catch (...) {
    if (first) forget(active);  // their first step is still to come
    throw;
  }
  for (size_t i = 0; i < active.size(); ++i) round_back(*active[i], params[i]);
}

void Optimizer::compute_wide(Wide wide) {
  for (const ParamGroup& g : groups_) {
    for (const ParamState& s : g.params) {
      DT_CHECK(s.is_new() && !s.master.defined(), kRuntimeError,
               "a parameter has stepped: choose how steps round before the first one");
    }
  }
  wide_ = wide;
}

Tensor Optimizer::computed(ParamState& s) const {
  if (!is_wide(s.param)) return s.param;
  if (s.master.defined()) return s.master;
  const Tensor wide = to_dtype(s.param.detach(), info(s.param.dtype()).compute);
  if (wide_ == Wide::kMasters) {
    check_not_capturing();
    s.master = wide;
  }
  return wide;
}

void Optimizer::round_back(ParamState& s, const Tensor& computed) const {
  if (!is_wide(s.param)) return;
  copy_(s.param,
        wide_ == Wide::kStochastic ? stochastic_round(computed, s.param.dtype()) : computed);
}

void Optimizer::make_slots(ParamState& state, const Tensor& computed,
                           const Settings& settings) const {
  for (int64_t k = 0; k < row_.states.size(); ++k) {
    if (state.slots[k].defined() || !row_.states[k].exists(settings)) continue;
    check_not_capturing();
    state.slots[k] = new_slot(row_.states[k], computed, settings);
  }
}

std::string Optimizer::key(int64_t param, int64_t slot) const {
  return text(param, ".", row_.states[slot].name);
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> Optimizer::state_dict() const {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  int64_t number = 0;
  for (const ParamGroup& g : groups_) {
    for (const ParamState& s : g.params) {
      for (size_t k = 0; k < s.slots.size(); ++k) {
        if (!s.slots[k].defined()) continue;
        names.push_back(key(number, static_cast<int64_t>(k)));
        tensors.push_back(s.slots[k]);
      }
      if (s.master.defined()) {
        names.push_back(text(number, kMaster));
        tensors.push_back(s.master);
      }
      ++number;
    }
  }
  return {names, tensors};
}

void Optimizer::load_state_dict(const std::vector<std::string>& names, TensorList tensors) {
  DT_CHECK(static_cast<int64_t>(names.size()) == tensors.size(), kValueError, "got ", names.size(),
           " names and ", tensors.size(), " tensors");
  std::map<std::string, Tensor> given;
  for (size_t i = 0; i < names.size(); ++i) {
    DT_CHECK(given.emplace(names[i], tensors[i]).second, kRuntimeError, "the key '", names[i],
             "' appears twice in the optimizer's state");
  }
  std::vector<ParamState> loaded;  // nothing is changed before all is checked
  for (const ParamGroup& g : groups_) {
    for (const ParamState& s : g.params) {
      loaded.push_back(
          take_state(static_cast<int64_t>(loaded.size()), s.param, g.settings(), given));
    }
  }
  DT_CHECK(given.empty(), kRuntimeError, "unexpected key '", given.begin()->first,
           "' in the optimizer's state");
  size_t number = 0;
  for (ParamGroup& g : groups_) {
    for (ParamState& s : g.params) s = std::move(loaded[number++]);
  }
}

// A copy of the optimizer's own, with the dtype, strides and device of a new state.
ParamState Optimizer::take_state(int64_t number, const Tensor& param, const Settings& settings,
                                 std::map<std::string, Tensor>& given) const {
  const int64_t n = row_.states.size();
  ParamState state{param, std::vector<Tensor>(n), {}};
  const Tensor like = computed(state);  // a new master, where there are such
  const auto take = [&](const std::string& name, const Tensor& into) {
    const Tensor& x = given.at(name);
    DT_CHECK(x.sizes() == into.sizes(), kRuntimeError, "'", name, "' has size ", x.sizes(),
             ", expected ", into.sizes());
    copy_elements(into, x);
    given.erase(name);
  };
  size_t known = 0;
  for (int64_t k = 0; k < n; ++k) known += given.count(key(number, k));
  for (int64_t k = 0; known > 0 && k < n; ++k) {
    const std::string name = key(number, k);
    if (!given.count(name)) {
      DT_CHECK(!row_.states[k].exists(settings), kRuntimeError, "missing key '", name,
               "' in the optimizer's state");
      continue;
    }
    state.slots[k] = new_slot(row_.states[k], like, settings);
    take(name, state.slots[k]);
  }
  const std::string master = text(number, kMaster);
  if (state.master.defined() && given.count(master))
    take(master, state.master);
  else
    state.master = Tensor();  // made from the parameter at the next step
  return state;
}

}  // namespace dt
