// Learning rate schedules: PyTorch's torch.optim.lr_scheduler.
#pragma once

#include <functional>

#include "core/optim/optimizer.h"

namespace dt {

// Stepped once per epoch, after the optimizer.
class LrScheduler final : public RefCounted {
 public:
  // The learning rate of an epoch, from that of the epoch before and the first one: a row of the
  // schema (schedules.gen.cpp).
  using NextRate = std::function<double(double lr, double initial_lr, int64_t epoch)>;

  // The rates of now are what the schedule starts from, unless another one came before. If it
  // begins with another rate, that is the one of epoch 0.
  LrScheduler(Ref<Optimizer> optimizer, NextRate next, bool begins_elsewhere);
  static void destroy(LrScheduler* s) { delete s; }

  const Ref<Optimizer>& optimizer() const { return optimizer_; }
  void step();
  int64_t last_epoch() const { return epoch_; }
  // What this schedule has set last, a rate per group: others may have changed them since.
  const std::vector<double>& get_last_lr() const { return last_lr_; }

 private:
  void set_rates();

  Ref<Optimizer> optimizer_;
  NextRate next_;
  int64_t epoch_ = 0;
  std::vector<double> last_lr_;
};

}  // namespace dt
