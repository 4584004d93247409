// torch.optim.Adam and AdamW, which differ in where the weight decay goes.
#include "core/ops/creation.gen.h"
#include "core/ops/options.h"
#include "core/optim/optimizer.h"
#include "core/optim/steps.h"

namespace dt {
namespace {

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
  std::vector<Tensor> new_slots(const Tensor& param) const override {
    std::vector<Tensor> slots = {zeros({}, DType::FLOAT32, param.device())};
    for (int k = 0; k < (amsgrad_ ? 3 : 2); ++k) slots.push_back(zeros_like(param.detach()));
    return slots;
  }

  void step_group(ParamGroup& g, std::vector<ParamState*>& active, TensorList grads) override {
    for (ParamState* s : active) {
      if (!s->slots[0].defined()) make_slots(*s);
    }
    adam_step(params_of(active), grads, slot_of(active, 1), slot_of(active, 2),
              amsgrad_ ? slot_of(active, 3) : std::vector<Tensor>(), slot_of(active, 0),
              g.rate(active), g.get("beta1"), g.get("beta2"), g.get("eps"), g.get("weight_decay"),
              amsgrad_, maximize_, decoupled_);
  }

  bool amsgrad_, maximize_, decoupled_;
};

}  // namespace

Ref<Optimizer> make_adam(TensorList params, const AdamOptions& o) {
  return Ref<Optimizer>::adopt(new Adam(
      params, {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize, false}));
}

Ref<Optimizer> make_adamw(TensorList params, const AdamwOptions& o) {
  return Ref<Optimizer>::adopt(new Adam(
      params, {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize, true}));
}

}  // namespace dt
