// Optimizers: parameter groups, state per parameter, a step. PyTorch's torch.optim.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/ref.h"
#include "core/tensor/tensor.h"

namespace dt {

// One number per name, the same names for every optimizer of a kind: "lr", "momentum", ...
struct Hyper {
  const char* name;
  double value;
};

struct ParamState {
  Tensor param;
  // As the optimizer's slot names; all undefined until the first step that has a gradient.
  std::vector<Tensor> slots;
};

struct ParamGroup {
  std::vector<ParamState> params;
  std::vector<Hyper> hyper;
  std::optional<double> initial_lr;  // "lr" when the first schedule of it was made
  Tensor rate_on_device;  // "lr" as a step on a GPU reads it; undefined before the first one

  double get(const char* name) const;
  void set(const char* name, double value);
  // The learning rate for a step of `active`. If one of them lies on a GPU it is a tensor that
  // `set` keeps up to date, so that a captured step obeys a schedule.
  Operand rate(const std::vector<ParamState*>& active);
};

class Optimizer : public RefCounted {
 public:
  virtual ~Optimizer() = default;
  static void destroy(Optimizer* o) { delete o; }

  // The new group takes the first group's numbers; change them with set.
  void add_param_group(TensorList params);
  void zero_grad(bool set_to_none);
  // Parameters without a gradient are left out. On an error earlier groups have been stepped, later
  // ones not.
  void step();

  int64_t group_count() const { return static_cast<int64_t>(groups_.size()); }
  ParamGroup& group(int64_t i);

  // State as named tensors: "0.exp_avg" is the slot of parameter number 0, counted through all
  // groups.
  std::tuple<std::vector<std::string>, std::vector<Tensor>> state_dict() const;
  // Replaces all state. A parameter's slots are given together, or none of them: it then starts
  // anew. Nothing is changed if a check fails.
  void load_state_dict(const std::vector<std::string>& names, TensorList tensors);

 protected:
  Optimizer(TensorList params, std::vector<Hyper> hyper, std::vector<const char*> slot_names);

  // A parameter's state before its first step, a tensor for each slot name.
  virtual std::vector<Tensor> new_slots(const Tensor& param) const = 0;
  // Steps the parameters that have gradients, whose slots are filled in here where they are
  // missing.
  virtual void step_group(ParamGroup& group, std::vector<ParamState*>& active,
                          TensorList grads) = 0;

  // new_slots for a parameter that has none. Refused in a capture, whose replays would make them
  // anew each time.
  void make_slots(ParamState& state) const;

  static std::vector<Tensor> params_of(const std::vector<ParamState*>& active);
  static std::vector<Tensor> slot_of(const std::vector<ParamState*>& active, size_t k);
  static void check_not_negative(double value, const char* what);

 private:
  void fill(ParamGroup& group, TensorList params) const;
  std::string key(int64_t param, size_t slot) const;
  std::vector<Tensor> take_slots(int64_t number, const Tensor& param,
                                 std::map<std::string, Tensor>& given) const;

  const std::vector<const char*> slot_names_;

  std::vector<ParamGroup> groups_;
};

struct SgdOptions;
struct AdamOptions;
struct AdamwOptions;

Ref<Optimizer> make_sgd(TensorList params, const SgdOptions& options);
Ref<Optimizer> make_adam(TensorList params, const AdamOptions& options);
Ref<Optimizer> make_adamw(TensorList params, const AdamwOptions& options);

}  // namespace dt
