#include "core/optim/lr_scheduler.h"

#include <cmath>

namespace dt {
namespace {

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

LrScheduler::LrScheduler(Ref<Optimizer> optimizer) : optimizer_(std::move(optimizer)) {
  for (int64_t i = 0; i < optimizer_->group_count(); ++i) {
    ParamGroup& g = optimizer_->group(i);
    if (!g.initial_lr) g.initial_lr = g.get("lr");
    last_lr_.push_back(g.get("lr"));
  }
}

void LrScheduler::step() {
  ++epoch_;
  last_lr_.clear();
  for (int64_t i = 0; i < optimizer_->group_count(); ++i) {
    ParamGroup& g = optimizer_->group(i);
    if (!g.initial_lr) g.initial_lr = g.get("lr");  // a group that was added since
    last_lr_.push_back(next_lr(epoch_, g.get("lr"), *g.initial_lr));
    g.set("lr", last_lr_.back());
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
