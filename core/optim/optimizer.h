// Optimizers: parameter groups, state for each parameter, a step. PyTorch's torch.optim.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/ref.h"
#include "core/optim/row.h"
#include "core/tensor/tensor.h"

namespace dt {

struct ParamState {
  Tensor param;
  // As the row's states; undefined where the settings need none, and before the first step that has
  // a gradient.
  std::vector<Tensor> slots;
  Tensor master = {};  // the parameter in float32; undefined where there is none

  bool is_new() const;  // has not stepped yet
};

class ParamGroup {
 public:
  ParamGroup(const OptimizerRow& row, Settings settings)
      : row_(&row), settings_(std::move(settings)) {}

  double get(const char* name) const { return settings_[row_->index_of(name)]; }
  void set(const char* name, double value);
  const Settings& settings() const { return settings_; }
  // The learning rate for a step of `active`. If one of them lies on a GPU it is a tensor that
  // `set` keeps up to date, so that a captured step obeys a schedule.
  Operand rate(const std::vector<ParamState*>& active);

  std::vector<ParamState> params;
  std::optional<double> initial_lr;  // "lr" when the first schedule of it was made

 private:
  const OptimizerRow* row_;
  Settings settings_;
  Tensor rate_on_device_;  // "lr" as a step on a GPU reads it; undefined before the first one
};

class Optimizer : public RefCounted {
 public:
  static void destroy(Optimizer* o) { delete o; }

  Optimizer(const OptimizerRow& row, TensorList params, Settings settings);

  // The new group takes the first group's settings; change them with set.
  void add_param_group(TensorList params);
  void zero_grad(bool set_to_none);
  // Parameters without a gradient are left out. On an error earlier groups have been stepped, later
  // ones not.
  void step() { step_unless({}); }
  // The same where `found_inf`, if given, is 0. A GPU looks by itself, unless that would be a first
  // step which differs from later ones.
  void step_unless(Tensor found_inf);
  // Those of all parameters that have one.
  std::vector<Tensor> grads() const;

  // Steps of parameters in half precision compute in float32, and so do their states: with masters,
  // which keep what rounding would lose, or without, rounded at random. Before the first step.
  void use_master_weights() { compute_wide(Wide::kMasters); }
  void use_stochastic_rounding() { compute_wide(Wide::kStochastic); }

  int64_t group_count() const { return static_cast<int64_t>(groups_.size()); }
  ParamGroup& group(int64_t i);

  // State as named tensors: "0.exp_avg" is the state of parameter number 0, counted through all
  // groups.
  std::tuple<std::vector<std::string>, std::vector<Tensor>> state_dict() const;
  // Replaces all state. A parameter's is given whole, or not at all: it then starts anew. Nothing
  // is changed if a check fails.
  void load_state_dict(const std::vector<std::string>& names, TensorList tensors);

 private:
  enum class Wide { kNo, kMasters, kStochastic };

  void compute_wide(Wide wide);
  bool is_wide(const Tensor& param) const { return wide_ != Wide::kNo && is_narrow(param.dtype()); }
  // What a step changes: the parameter, or its value in float32.
  Tensor computed(ParamState& state) const;
  void round_back(ParamState& state, const Tensor& computed) const;
  void fill(ParamGroup& group, TensorList params) const;
  // Steps parameters that are all new, or all not, if the row tells these apart.
  void step_part(ParamGroup& group, const std::vector<ParamState*>& active,
                 const std::vector<Tensor>& grads, const Tensor& found_inf) const;
  // Makes the state that the settings need and that is missing.
  void make_slots(ParamState& state, const Tensor& computed, const Settings& settings) const;
  std::string key(int64_t param, int64_t slot) const;
  // Moves the state of one parameter out of `given`, as a step needs it.
  ParamState take_state(int64_t number, const Tensor& param, const Settings& settings,
                        std::map<std::string, Tensor>& given) const;

  const OptimizerRow& row_;
  std::vector<ParamGroup> groups_;
  Wide wide_ = Wide::kNo;
};

}  // namespace dt
