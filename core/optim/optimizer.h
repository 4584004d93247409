// Optimizers: parameter groups, state per parameter, a step. PyTorch's torch.optim.
#pragma once

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
  std::vector<Tensor>
      slots;  // as the optimizer's slot_names; undefined until the first step that has a gradient
};

struct ParamGroup {
  std::vector<ParamState> params;
  std::vector<Hyper> hyper;
  double initial_lr;      // what schedulers start from
  Tensor rate_on_device;  // "lr" as a step on a GPU reads it; undefined before the first one

  double get(const char* name) const;
  void set(const char* name, double value);
  // The learning rate for a step on `device`. On a GPU it is a tensor that `set` keeps up to date,
  // so that a captured step obeys a schedule.
  Operand rate(Device device);
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
  void load_state_dict(const std::vector<std::string>& names, TensorList tensors);

 protected:
  Optimizer(TensorList params, std::vector<Hyper> hyper, std::vector<const char*> slot_names);

  // Steps the parameters that have gradients, whose slots are filled in here where they are
  // missing.
  virtual void step_group(ParamGroup& group, std::vector<ParamState*>& active,
                          TensorList grads) = 0;

  const std::vector<const char*> slot_names_;

 private:
  void fill(ParamGroup& group, TensorList params) const;

  std::vector<ParamGroup> groups_;
};

struct SgdOptions;
struct AdamOptions;
struct AdamwOptions;

Ref<Optimizer> make_sgd(TensorList params, const SgdOptions& options);
Ref<Optimizer> make_adam(TensorList params, const AdamOptions& options);
Ref<Optimizer> make_adamw(TensorList params, const AdamwOptions& options);

// Learning rate schedules (torch.optim.lr_scheduler), stepped once per epoch after the optimizer.
class LrScheduler : public RefCounted {
 public:
  explicit LrScheduler(Ref<Optimizer> optimizer) : optimizer_(std::move(optimizer)) {}
  virtual ~LrScheduler() = default;
  static void destroy(LrScheduler* s) { delete s; }

  void step();
  int64_t last_epoch() const { return epoch_; }

 protected:
  // The learning rate of epoch `epoch`, from that of the epoch before and the first one.
  virtual double next_lr(int64_t epoch, double lr, double initial_lr) const = 0;

 private:
  Ref<Optimizer> optimizer_;
  int64_t epoch_ = 0;
};

Ref<LrScheduler> make_step_lr(const Ref<Optimizer>& optimizer, int64_t step_size, double gamma);
Ref<LrScheduler> make_cosine_annealing_lr(const Ref<Optimizer>& optimizer, int64_t t_max,
                                          double eta_min);

}  // namespace dt
