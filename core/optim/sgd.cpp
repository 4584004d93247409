// torch.optim.SGD.
#include "core/ops/creation.gen.h"
#include "core/ops/options.h"
#include "core/optim/optimizer.h"
#include "core/optim/steps.h"

namespace dt {
namespace {

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
  std::vector<Tensor> new_slots(const Tensor& param) const override {
    return {zeros_like(param.detach())};
  }

  // Parameters that step for the first time start their buffer; the others continue theirs. They
  // are parted before either steps: a first step makes the buffers that tell them apart.
  void step_group(ParamGroup& g, std::vector<ParamState*>& active, TensorList grads) override {
    Part first, later;
    for (size_t i = 0; i < active.size(); ++i) {
      Part& part = active[i]->slots[0].defined() ? later : first;
      part.params.push_back(active[i]);
      part.grads.push_back(grads[i]);
    }
    step_part(g, first, true);
    step_part(g, later, false);
  }

  struct Part {
    std::vector<ParamState*> params;
    std::vector<Tensor> grads;
  };

  void step_part(ParamGroup& g, const Part& part, bool first_step) const {
    if (part.params.empty()) return;
    std::vector<Tensor> buffers;
    if (g.get("momentum") != 0) {
      if (first_step) {
        for (ParamState* s : part.params) make_slots(*s);
      }
      buffers = slot_of(part.params, 0);
    }
    sgd_step(params_of(part.params), part.grads, buffers, g.rate(part.params), g.get("momentum"),
             g.get("dampening"), g.get("weight_decay"), nesterov_, maximize_, first_step);
  }

  bool nesterov_, maximize_;
};

}  // namespace

Ref<Optimizer> make_sgd(TensorList params, const SgdOptions& o) {
  return Ref<Optimizer>::adopt(new Sgd(params, o));
}

}  // namespace dt
