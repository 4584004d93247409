#include "core/optim/grad_scaler.h"

#include <limits>

#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/formula.h"
#include "core/ops/pointwise_logic.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/optim/steps.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

constexpr DType kScaleDType = kDTypeOf<float>, kCountDType = kDTypeOf<int32_t>;

void check_number(const Tensor& x, const char* name, DType dtype) {
  DT_CHECK(x.numel() == 1 && x.dtype() == dtype, kRuntimeError, name, " must be one number of ",
           dtype, ", got size ", x.sizes(), " of ", x.dtype());
}

}  // namespace

Tensor amp_unscale_(TensorList grads, const Tensor& scale) {
  const GradMode no_grad(false);
  DT_CHECK(!grads.empty(), kRuntimeError, "there are no gradients to unscale");
  check_number(scale, "scale", kScaleDType);
  const Device first = grads[0].device();
  std::vector<Tensor> largest;  // of each gradient: infinite or NaN if an element is
  for (const Tensor& g : grads) {
    if (g.numel() > 0)
      largest.push_back(
          to(to_dtype(norm(g, std::numeric_limits<double>::infinity()), kScaleDType), first));
  }
  multiply_(grads, reciprocal(scale));
  if (largest.empty()) return zeros({}, kScaleDType, first);
  return to_dtype(logical_not(all(isfinite(stack(largest)))), kScaleDType);
}

void amp_update_scale_(const Tensor& scale, const Tensor& growth_tracker, const Tensor& found_inf,
                       double growth_factor, double backoff_factor, int64_t growth_interval) {
  const GradMode no_grad(false);
  check_number(scale, "scale", kScaleDType);
  check_number(growth_tracker, "growth_tracker", kCountDType);
  DT_CHECK(found_inf.numel() == 1, kRuntimeError, "found_inf must be one number, got size ",
           found_inf.sizes());
  const Tensor failed = ne(found_inf, 0);
  const Tensor count = add(growth_tracker, 1);
  const Tensor grows = eq(count, static_cast<double>(growth_interval));
  const Tensor larger = scale * growth_factor;
  const Tensor next = where(logical_and(grows, isfinite(larger)), larger, scale);
  copy_(scale, reshape(where(failed, scale * backoff_factor, next), scale.sizes()));
  const Tensor starts_anew = logical_or(failed, grows);
  copy_(growth_tracker, reshape(masked_fill(count, starts_anew, 0), growth_tracker.sizes()));
}

Ref<GradScaler> GradScaler::create(const GradScalerSettings& settings) {
  DT_CHECK(settings.growth_factor > 1, kValueError, "The growth factor must be > 1.0.");
  DT_CHECK(settings.backoff_factor < 1, kValueError, "The backoff factor must be < 1.0.");
  Ref<GradScaler> scaler = Ref<GradScaler>::adopt(new GradScaler);
  scaler->settings_ = settings;
  return scaler;
}

void GradScaler::place_on(Device device) {
  if (scale_.defined()) return;
  scale_ = full({}, settings_.init_scale, kScaleDType, device);
  growth_tracker_ = full({}, finite_steps_, kCountDType, device);
}

GradScaler::Progress* GradScaler::find(const Ref<Optimizer>& optimizer) {
  DT_CHECK(scale_.defined(), kRuntimeError, "no loss was scaled yet: call scale first");
  for (Progress& p : progress_) {
    if (p.optimizer.get() == optimizer.get()) return &p;
  }
  return nullptr;
}

Tensor GradScaler::scale(const Tensor& outputs) {
  place_on(outputs.device());
  return mul(outputs, to(scale_, outputs.device()));
}

void GradScaler::unscale_(const Ref<Optimizer>& optimizer) {
  const Progress* before = find(optimizer);
  DT_CHECK(!before || !before->has_stepped, kRuntimeError,
           "unscale_() is being called after step().");
  DT_CHECK(!before, kRuntimeError,
           "unscale_() has already been called on this optimizer since the last update().");
  const std::vector<Tensor> grads = optimizer->grads();
  DT_CHECK(!grads.empty(), kRuntimeError, "No inf checks were recorded for this optimizer.");
  for (const Tensor& g : grads) {
    DT_CHECK(g.dtype() != kDTypeOf<Float16>, kValueError, "Attempting to unscale FP16 gradients.");
  }
  progress_.push_back({optimizer, amp_unscale_(grads, scale_), false});
}

void GradScaler::step(const Ref<Optimizer>& optimizer) {
  if (!find(optimizer)) unscale_(optimizer);
  Progress& p = *find(optimizer);
  DT_CHECK(!p.has_stepped, kRuntimeError,
           "step() has already been called since the last update().");
  p.has_stepped = true;
  optimizer->step_unless(p.found_inf);
}

void GradScaler::update(std::optional<double> new_scale) {
  const GradMode no_grad(false);
  if (new_scale) {
    DT_CHECK(scale_.defined(), kRuntimeError, "no loss was scaled yet: call scale first");
    fill_(scale_, *new_scale);
  } else {
    DT_CHECK(!progress_.empty(), kRuntimeError, "No inf checks were recorded prior to update.");
    Tensor found_inf;
    for (const Progress& p : progress_) {
      const Tensor here = to(p.found_inf, scale_.device());
      found_inf = found_inf.defined() ? found_inf + here : here;
    }
    amp_update_scale_(scale_, growth_tracker_, found_inf, settings_.growth_factor,
                      settings_.backoff_factor, settings_.growth_interval);
  }
  progress_.clear();
}

Tensor GradScaler::get_state() const {
  const Tensor state = full({2}, settings_.init_scale, kDTypeOf<double>, kCpu);
  copy_(select(state, 0, 1), scale_.defined() ? growth_tracker_ : full({}, finite_steps_));
  if (scale_.defined()) copy_(select(state, 0, 0), scale_);
  return state;
}

void GradScaler::set_state(const Tensor& state) {
  DT_CHECK(state.ndim() == 1 && state.numel() == 2, kRuntimeError,
           "expected a state of two numbers, got size ", state.sizes());
  settings_.init_scale = item(select(state, 0, 0)).to_double();
  finite_steps_ = item(select(state, 0, 1)).to_double();
  if (!scale_.defined()) return;
  fill_(scale_, settings_.init_scale);
  fill_(growth_tracker_, finite_steps_);
}

}  // namespace dt
