#include "core/optim/lr_scheduler.h"

namespace dt {

LrScheduler::LrScheduler(Ref<Optimizer> optimizer, NextRate next, bool begins_elsewhere)
    : optimizer_(std::move(optimizer)), next_(std::move(next)) {
  for (int64_t i = 0; i < optimizer_->group_count(); ++i) {
    ParamGroup& g = optimizer_->group(i);
    if (!g.initial_lr) g.initial_lr = g.get("lr");
    last_lr_.push_back(g.get("lr"));
  }
  if (begins_elsewhere) set_rates();
}

void LrScheduler::step() {
  ++epoch_;
  set_rates();
}

void LrScheduler::set_rates() {
  last_lr_.clear();
  for (int64_t i = 0; i < optimizer_->group_count(); ++i) {
    ParamGroup& g = optimizer_->group(i);
    if (!g.initial_lr) g.initial_lr = g.get("lr");  // a group that was added since
    last_lr_.push_back(next_(g.get("lr"), *g.initial_lr, epoch_));
    g.set("lr", last_lr_.back());
  }
}

}  // namespace dt
