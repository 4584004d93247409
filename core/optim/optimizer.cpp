#include "core/optim/optimizer.h"

#include <algorithm>
#include <cstring>

#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
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

Operand ParamGroup::rate(const std::vector<ParamState*>& active) {
  const auto found = std::find_if(active.begin(), active.end(),
                                  [](const ParamState* s) { return s->param.device() != kCpu; });
  if (found == active.end()) return get("lr");
  const Device device = (*found)->param.device();
  if (!rate_on_device.defined() || rate_on_device.device() != device) {
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
  ParamGroup group;
  group.hyper = groups_[0].hyper;
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

std::string Optimizer::key(int64_t param, size_t slot) const {
  return text(param, ".", slot_names_[slot]);
}

std::tuple<std::vector<std::string>, std::vector<Tensor>> Optimizer::state_dict() const {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  int64_t number = 0;
  for (const ParamGroup& g : groups_) {
    for (const ParamState& s : g.params) {
      for (size_t k = 0; k < s.slots.size(); ++k) {
        if (!s.slots[k].defined()) continue;
        names.push_back(key(number, k));
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
  std::map<std::string, Tensor> given;
  for (size_t i = 0; i < names.size(); ++i) {
    DT_CHECK(given.emplace(names[i], tensors[i]).second, kRuntimeError, "the key '", names[i],
             "' appears twice in the optimizer's state");
  }
  std::vector<std::vector<Tensor>> loaded;  // nothing is changed before all is checked
  for (const ParamGroup& g : groups_) {
    for (const ParamState& s : g.params) {
      loaded.push_back(take_slots(static_cast<int64_t>(loaded.size()), s.param, given));
    }
  }
  DT_CHECK(given.empty(), kRuntimeError, "unexpected key '", given.begin()->first,
           "' in the optimizer's state");
  size_t number = 0;
  for (ParamGroup& g : groups_) {
    for (ParamState& s : g.params) s.slots = std::move(loaded[number++]);
  }
}

// Moves the state of one parameter out of `given`, as a step needs it: a copy of the optimizer's
// own, with the dtype, strides and device of a new state.
std::vector<Tensor> Optimizer::take_slots(int64_t number, const Tensor& param,
                                          std::map<std::string, Tensor>& given) const {
  size_t known = 0;
  for (size_t k = 0; k < slot_names_.size(); ++k) known += given.count(key(number, k));
  if (known == 0) return std::vector<Tensor>(slot_names_.size());
  std::vector<Tensor> slots = new_slots(param);
  for (size_t k = 0; k < slots.size(); ++k) {
    const auto found = given.find(key(number, k));
    DT_CHECK(found != given.end(), kRuntimeError, "missing key '", key(number, k),
             "' in the optimizer's state");
    const Tensor& x = found->second;
    DT_CHECK(x.sizes() == slots[k].sizes(), kRuntimeError, "'", key(number, k), "' has size ",
             x.sizes(), ", expected ", slots[k].sizes());
    copy_elements(slots[k], x);
    given.erase(found);
  }
  return slots;
}

void Optimizer::make_slots(ParamState& state) const {
  check_not_capturing();
  state.slots = new_slots(state.param);
}

std::vector<Tensor> Optimizer::params_of(const std::vector<ParamState*>& active) {
  std::vector<Tensor> list;
  list.reserve(active.size());
  for (const ParamState* s : active) list.push_back(s->param);
  return list;
}

std::vector<Tensor> Optimizer::slot_of(const std::vector<ParamState*>& active, size_t k) {
  std::vector<Tensor> list;
  list.reserve(active.size());
  for (const ParamState* s : active) list.push_back(s->slots[k]);
  return list;
}

void Optimizer::check_not_negative(double value, const char* what) {
  DT_CHECK(value >= 0, kValueError, "Invalid ", what, ": ", value);
}

}  // namespace dt
