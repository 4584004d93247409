#include "core/optim/steps.h"

#include <algorithm>
#include <cmath>

#include "core/ops/copy.h"
#include "core/ops/creation.gen.h"
#include "core/ops/pointwise.gen.h"
#include "core/ops/reduce.gen.h"
#include "core/ops/views.gen.h"
#include "core/runtime/backend.h"
#include "core/runtime/calls/optim.gen.h"
#include "core/runtime/context.h"

namespace dt {
namespace {

// The devices that tensors lie on, each once.
std::vector<Device> devices_of(TensorList tensors) {
  std::vector<Device> devices;
  for (const Tensor& x : tensors) {
    const Device d = x.device();
    if (std::find(devices.begin(), devices.end(), d) == devices.end()) devices.push_back(d);
  }
  return devices;
}

// Dense tensors with equal strides are runs of elements in the same order.
View flat(const Tensor& x) {
  const int64_t n = x.numel();
  return View(x, IntList(&n, 1), {1}, x.offset());
}

// A step over checked lists, which belong to the parameters one by one.
class Step {
 public:
  using Positions = std::vector<int64_t>;

  Step(TensorList params, TensorList grads) : params_(params) {
    DT_CHECK(grads.size() == params.size(), kRuntimeError, "got ", params.size(),
             " parameters and ", grads.size(), " gradients");
    for (int64_t i = 0; i < params.size(); ++i) {
      DT_CHECK(is_floating(params[i].dtype()), kRuntimeError, "parameter ", i, " has dtype ",
               params[i].dtype(), ", expected a floating point one");
      DT_CHECK(is_dense(params[i].sizes(), params[i].strides()), kRuntimeError, "parameter ", i,
               " is not dense: its elements overlap or leave holes");
      check_like_param(i, grads[i], "gradient");
      grads_.push_back(in_param_order(i, grads[i]));
    }
  }

  // A list of per-parameter state, updated in place.
  void add_state(TensorList state, const char* what) {
    DT_CHECK(state.size() == params_.size(), kRuntimeError, "got ", params_.size(),
             " parameters and ", state.size(), " ", what, " tensors");
    for (int64_t i = 0; i < state.size(); ++i) {
      DT_CHECK(state[i].strides() == params_[i].strides() || state[i].numel() <= 1, kRuntimeError,
               what, " ", i, " has strides ", state[i].strides(), ", the parameter ",
               params_[i].strides());
      check_like_param(i, state[i], what);
    }
    written_.insert(written_.end(), state.begin(), state.end());
  }

  void add_steps(TensorList steps) {
    DT_CHECK(steps.size() == params_.size(), kRuntimeError, "got ", params_.size(),
             " parameters and ", steps.size(), " step tensors");
    for (const Tensor& step : steps) {
      DT_CHECK(step.numel() == 1 && step.dtype() == DType::FLOAT32, kRuntimeError,
               "a step must be one float32 number, got size ", step.sizes(), " of ", step.dtype());
    }
    written_.insert(written_.end(), steps.begin(), steps.end());
  }

  // One call for the parameters of each device; fill(call, their positions) adds what is not
  // common to all steps.
  template <class Call, class Fill>
  void launch(Op<Call> op, const Operand& lr, Fill fill) const {
    check_rate(lr);
    for (const Device device : devices_of(params_)) {
      const Positions positions = positions_on(device);
      Call call(static_cast<int64_t>(positions.size()));
      put(call.param, params_, positions);
      put(call.grad, grads_, positions);
      Tensor rate;
      if (!lr.is_number() && lr.tensor().device() != kCpu && device != kCpu) {
        rate = to(lr.tensor(), device);
        call.lr = flat(rate);
      } else {
        const Scalar number = lr.is_number() ? lr.number() : item(lr.tensor());
        call.lr = View(number.to_double(), DType::FLOAT64, {});
      }
      fill(call, positions);
      run(op, call);
      bump_versions(positions);
    }
  }

  static void put(Span<View> list, TensorList tensors, const Positions& positions) {
    for (int64_t i = 0; i < list.size(); ++i)
      list[i] = flat(tensors[positions[static_cast<size_t>(i)]]);
  }

 private:
  Positions positions_on(Device device) const {
    Positions positions;
    for (int64_t i = 0; i < params_.size(); ++i) {
      if (params_[i].device() == device) positions.push_back(i);
    }
    return positions;
  }

  // Device by device: should another one's kernel be refused, what this one changed has changed.
  void bump_versions(const Positions& positions) const {
    const size_t n = static_cast<size_t>(params_.size());
    for (const int64_t i : positions) {
      params_[i].bump_version();
      for (size_t k = static_cast<size_t>(i); k < written_.size(); k += n)
        written_[k].bump_version();
    }
  }

  static void check_rate(const Operand& lr) {
    if (lr.is_number()) return;
    const Tensor& rate = lr.tensor();
    DT_CHECK(rate.numel() == 1 && is_floating(rate.dtype()), kRuntimeError,
             "lr must be one floating point number, got size ", rate.sizes(), " of ", rate.dtype());
  }

  void check_like_param(int64_t i, const Tensor& x, const char* what) const {
    const Tensor& p = params_[i];
    DT_CHECK(x.sizes() == p.sizes() && x.dtype() == p.dtype(), kRuntimeError, what, " ", i,
             " has size ", x.sizes(), " and dtype ", x.dtype(), ", the parameter ", p.sizes(),
             " and ", p.dtype());
  }

  Tensor in_param_order(int64_t i, const Tensor& x) const {
    const Tensor& p = params_[i];
    if (x.strides() == p.strides() || x.numel() <= 1) return x;
    const Tensor same = make_empty_strided(p.sizes(), p.strides(), p.dtype(), p.device());
    copy_elements(same, x);
    return same;
  }

  TensorList params_;
  std::vector<Tensor> grads_;
  // The state, list after list; parameters are written too.
  std::vector<Tensor> written_;
};

}  // namespace

void sgd_step(TensorList params, TensorList grads, TensorList momentum_buffers, const Operand& lr,
              double momentum, double dampening, double weight_decay, bool nesterov, bool maximize,
              bool first_step) {
  const GradMode no_grad(false);
  Step step(params, grads);
  if (momentum != 0) step.add_state(momentum_buffers, "momentum_buffer");
  step.launch(op::sgd, lr, [&](SgdCall& call, const Step::Positions& positions) {
    if (momentum != 0) Step::put(call.momentum_buffer, momentum_buffers, positions);
    call.nesterov = nesterov;
    call.maximize = maximize;
    call.first_step = first_step;
    call.momentum = momentum;
    call.dampening = dampening;
    call.weight_decay = weight_decay;
  });
}

void adam_step(TensorList params, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
               TensorList max_exp_avg_sqs, TensorList steps, const Operand& lr, double beta1,
               double beta2, double eps, double weight_decay, bool amsgrad, bool maximize,
               bool decoupled) {
  const GradMode no_grad(false);
  Step step(params, grads);
  step.add_state(exp_avgs, "exp_avg");
  step.add_state(exp_avg_sqs, "exp_avg_sq");
  if (amsgrad) step.add_state(max_exp_avg_sqs, "max_exp_avg_sq");
  step.add_steps(steps);
  step.launch(op::adam, lr, [&](AdamCall& call, const Step::Positions& positions) {
    Step::put(call.exp_avg, exp_avgs, positions);
    Step::put(call.exp_avg_sq, exp_avg_sqs, positions);
    Step::put(call.step, steps, positions);
    if (amsgrad) Step::put(call.max_exp_avg_sq, max_exp_avg_sqs, positions);
    call.maximize = maximize;
    call.decoupled = decoupled;
    call.beta1 = beta1;
    call.beta2 = beta2;
    call.eps = eps;
    call.weight_decay = weight_decay;
  });
}

Tensor clip_grad_norm_(TensorList params, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const GradMode no_grad(false);
  std::vector<Tensor> grads, norms;
  for (const Tensor& p : params) {
    const Tensor g = p.grad();
    if (!g.defined()) continue;
    grads.push_back(g);
    norms.push_back(to(norm(g, norm_type), grads[0].device()));
  }
  if (grads.empty()) return zeros({});
  const Tensor total = norm(stack(norms), norm_type);
  if (error_if_nonfinite) {
    DT_CHECK(std::isfinite(item(total).to_double()), kRuntimeError, "The total norm of order ",
             norm_type,
             " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable "
             "this error and scale "
             "the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`");
  }
  const Tensor factor = clamp_max(mul(reciprocal(add(total, 1e-6)), max_norm), 1.0);
  for (const Device device : devices_of(grads)) {
    std::vector<Tensor> here;
    for (const Tensor& g : grads) {
      if (g.device() == device) here.push_back(g);
    }
    ScaleByCall call(static_cast<int64_t>(here.size()));
    for (size_t i = 0; i < here.size(); ++i) call.x[static_cast<int64_t>(i)] = here[i];
    const Tensor near = to(factor, device);
    call.factor = near;
    run(op::scale_by, call);
  }
  for (const Tensor& g : grads) g.bump_version();
  return total;
}

}  // namespace dt
