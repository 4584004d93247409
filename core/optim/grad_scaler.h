// torch.amp.GradScaler: losses that are scaled so that gradients of float16 do not vanish. Scale
// and count of finite steps are numbers on the device of the loss, and nothing waits for them.
#pragma once

#include <optional>
#include <vector>

#include "core/base/ref.h"
#include "core/optim/optimizer.h"
#include "core/tensor/tensor.h"

namespace dt {

Tensor amp_unscale_(TensorList grads, const Tensor& scale);
void amp_update_scale_(const Tensor& scale, const Tensor& growth_tracker, const Tensor& found_inf,
                       double growth_factor, double backoff_factor, int64_t growth_interval);

struct GradScalerSettings {
  double init_scale, growth_factor, backoff_factor;
  int64_t growth_interval;
};

class GradScaler : public RefCounted {
 public:
  static Ref<GradScaler> create(const GradScalerSettings& settings);
  static void destroy(GradScaler* s) { delete s; }

  Tensor scale(const Tensor& outputs);
  void unscale_(const Ref<Optimizer>& optimizer);
  void step(const Ref<Optimizer>& optimizer);
  void update(std::optional<double> new_scale);
  Tensor get_state() const;
  void set_state(const Tensor& state);

 private:
  // What happened to an optimizer since the last update.
  struct Progress {
    Ref<Optimizer> optimizer;
    Tensor found_inf;
    bool has_stepped;
  };

  void place_on(Device device);
  Progress* find(const Ref<Optimizer>& optimizer);

  GradScalerSettings settings_{};
  double finite_steps_ = 0;  // init_scale and this until a loss says on which device
  Tensor scale_, growth_tracker_;
  std::vector<Progress> progress_;
};

}  // namespace dt
