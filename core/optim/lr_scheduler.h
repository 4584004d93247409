// Learning rate schedules: PyTorch's torch.optim.lr_scheduler.
#pragma once

#include "core/optim/optimizer.h"

namespace dt {

// Stepped once per epoch, after the optimizer.
class LrScheduler : public RefCounted {
 public:
  // The rates of now are what the schedule starts from, unless another one came before.
  explicit LrScheduler(Ref<Optimizer> optimizer);
  virtual ~LrScheduler() = default;
  static void destroy(LrScheduler* s) { delete s; }

  void step();
  int64_t last_epoch() const { return epoch_; }
  // What this schedule has set last, a rate per group: others may have changed them since.
  const std::vector<double>& get_last_lr() const { return last_lr_; }

 protected:
  // The learning rate of epoch `epoch`, from that of the epoch before and the first one.
  virtual double next_lr(int64_t epoch, double lr, double initial_lr) const = 0;

 private:
  Ref<Optimizer> optimizer_;
  int64_t epoch_ = 0;
  std::vector<double> last_lr_;
};

Ref<LrScheduler> make_step_lr(const Ref<Optimizer>& optimizer, int64_t step_size, double gamma);
Ref<LrScheduler> make_cosine_annealing_lr(const Ref<Optimizer>& optimizer, int64_t t_max,
                                          double eta_min);

}  // namespace dt
