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

// The run of memory of a dense tensor. Tensors of equal strides have their elements in the same
// order.
View flat(const Tensor& x) {
  const int64_t n = x.numel();
  return View(x, IntList(&n, 1), {1}, x.offset());
}

// Collects the operands of a step, list by list: parameters, gradients, state.
class Lists {
 public:
  Lists(TensorList params, TensorList grads, int64_t states) : params_(params) {
    DT_CHECK(grads.size() == params.size(), kRuntimeError, "got ", params.size(),
             " parameters and ", grads.size(), " gradients");
    out_.reserve(static_cast<size_t>(params.size() * (1 + states)));
    in_.reserve(static_cast<size_t>(params.size()) + 2);  // and two numbers
    for (int64_t i = 0; i < params.size(); ++i) {
      DT_CHECK(is_floating(params[i].dtype()), kRuntimeError, "parameter ", i, " has dtype ",
               params[i].dtype(), ", expected a floating point one");
      DT_CHECK(is_dense(params[i].sizes(), params[i].strides()), kRuntimeError, "parameter ", i,
               " is not dense: its elements overlap or leave holes");
      out_.push_back(flat(params[i]));
      check_like_param(i, grads[i], "gradient");
      in_.push_back(flat(laid_like_param(i, grads[i])));
    }
  }

  // A list of state like the parameters, updated in place.
  void add_state(TensorList state, const char* what) {
    for (int64_t i = 0; i < state.size(); ++i) {
      check_like_param(i, state[i], what);
      DT_CHECK(lies_like_param(i, state[i]), kRuntimeError, what, " ", i, " has strides ",
               state[i].strides(), ", the parameter ", params_[i].strides());
      out_.push_back(flat(state[i]));
    }
    written_.insert(written_.end(), state.begin(), state.end());
  }

  // A scalar for each parameter.
  void add_scalars(TensorList scalars, const char* what) {
    for (const Tensor& x : scalars) {
      DT_CHECK(x.defined(), kRuntimeError, what, " is missing");
      DT_CHECK(x.numel() == 1 && x.dtype() == kScalarDType, kRuntimeError, what,
               " must be one float32 number, got size ", x.sizes(), " of ", x.dtype());
      out_.push_back(flat(x));
    }
    written_.insert(written_.end(), scalars.begin(), scalars.end());
  }

  // One call for the parameters of each device; `call` has the settings.
  void launch(const Op<OptimizerCall>& op, const Operand& lr, const Operand& found_inf,
              OptimizerCall call) {
    check_number(lr, "lr");
    check_number(found_inf, "found_inf");
    const std::vector<Device> devices = devices_of(params_);
    for (const Device device : devices) {
      call.outputs = devices.size() == 1 ? std::move(out_) : part(out_, device);
      call.inputs = devices.size() == 1 ? std::move(in_) : part(in_, device);
      Tensor rate, inf;
      call.inputs.push_back(number_on(device, lr, rate));
      call.inputs.push_back(number_on(device, found_inf, inf));
      run(op, call);
      bump_versions(device);
    }
  }

 private:
  // Device by device: should another one's kernel be refused, what this one changed has changed.
  void bump_versions(Device device) const {
    const size_t n = static_cast<size_t>(params_.size());
    for (size_t i = 0; i < n; ++i) {
      const Tensor& p = params_[static_cast<int64_t>(i)];
      if (p.device() != device) continue;
      p.bump_version();
      for (size_t k = i; k < written_.size(); k += n) written_[k].bump_version();
    }
  }

  // Those that belong to the parameters of a device.
  std::vector<View> part(const std::vector<View>& views, Device device) const {
    std::vector<View> chosen;
    for (size_t i = 0; i < views.size(); ++i) {
      const int64_t number = static_cast<int64_t>(i) % params_.size();
      if (params_[number].device() == device) chosen.push_back(views[i]);
    }
    return chosen;
  }

  static void check_number(const Operand& x, const char* name) {
    if (x.is_number()) return;
    const Tensor& number = x.tensor();
    DT_CHECK(number.numel() == 1 && is_floating(number.dtype()), kRuntimeError, name,
             " must be one floating point number, got size ", number.sizes(), " of ",
             number.dtype());
  }

  // What a kernel on the device reads; `copy` owns it. A GPU's number is not waited for by a GPU.
  static View number_on(Device device, const Operand& x, Tensor& copy) {
    if (!x.is_number() && x.tensor().device() != kCpu && device != kCpu) {
      copy = to(x.tensor(), device);
      return flat(copy);
    }
    const Scalar number = x.is_number() ? x.number() : item(x.tensor());
    return View(number.to_double(), kRealDType, {});
  }

  void check_like_param(int64_t i, const Tensor& x, const char* what) const {
    const Tensor& p = params_[i];
    DT_CHECK(x.defined(), kRuntimeError, what, " ", i, " is missing");
    DT_CHECK(x.sizes() == p.sizes() && x.dtype() == p.dtype(), kRuntimeError, what, " ", i,
             " has size ", x.sizes(), " and dtype ", x.dtype(), ", the parameter ", p.sizes(),
             " and ", p.dtype());
  }

  bool lies_like_param(int64_t i, const Tensor& x) const {
    return x.strides() == params_[i].strides() || x.numel() <= 1;
  }

  const Tensor& laid_like_param(int64_t i, const Tensor& x) {
    if (lies_like_param(i, x)) return x;
    const Tensor& p = params_[i];
    const Tensor same = make_empty_strided(p.sizes(), p.strides(), p.dtype(), p.device());
    copy_elements(same, x);
    return kept_.emplace_back(same);
  }

  TensorList params_;
  // Whole lists, one after the other: element i belongs to parameter i % params_.size().
  std::vector<View> out_, in_;
  std::vector<Tensor> written_;  // the state; parameters are written too
  std::vector<Tensor> kept_;     // copies that views in in_ and out_ look at
};

}  // namespace

// The states are lists first, then scalars, as the kernel has them.
void update_parameters(const OptimizerRow& row, TensorList params, TensorList grads,
                       TensorList states, const Operand& lr, const Settings& settings, bool first,
                       const Tensor& found_inf) {
  const GradMode no_grad(false);
  const int64_t n = params.size();
  Lists lists(params, grads, row.states.size());
  for (const bool scalars : {false, true}) {
    for (int64_t k = 0; k < row.states.size(); ++k) {
      const OptimizerRow::State& state = row.states[k];
      if (state.is_scalar != scalars || !state.exists(settings)) continue;
      const TensorList list(states.data() + k * n, n);
      if (scalars)
        lists.add_scalars(list, state.name);
      else
        lists.add_state(list, state.name);
    }
  }
  OptimizerCall call;
  call.flags.reserve(static_cast<size_t>(row.settings.size()));
  call.numbers.reserve(static_cast<size_t>(row.settings.size()));
  for (int64_t i = 1; i < row.settings.size(); ++i) {  // the learning rate is an operand
    if (row.settings[i].is_flag)
      call.flags.push_back(settings[i] != 0);
    else
      call.numbers.push_back(settings[i]);
  }
  if (row.reads_first) call.flags.push_back(first);
  const Operand inf = found_inf.defined() ? Operand(found_inf) : Operand(0.0);
  lists.launch(row.op, lr, inf, std::move(call));
}

void optimizer_update_unless(const std::string& optimizer, TensorList params, TensorList grads,
                             TensorList states, const Operand& lr, Span<const double> settings,
                             bool first, const Tensor& found_inf) {
  const OptimizerRow& row = optimizer_row(optimizer);
  DT_CHECK(settings.size() == row.settings.size(), kValueError, optimizer, " has ",
           row.settings.size(), " settings, got ", settings.size());
  const int64_t expected = row.states.size() * params.size();
  DT_CHECK(states.size() == expected || states.empty(), kRuntimeError, "got ", params.size(),
           " parameters and ", states.size(), " tensors of state, expected ", row.states.size(),
           " for each");
  const std::vector<Tensor> none(static_cast<size_t>(states.empty() ? expected : 0));
  if (states.empty()) states = none;
  update_parameters(row, params, grads, states, lr, settings.to_vector(), first, found_inf);
}

void multiply_(TensorList tensors, const Tensor& factor) {
  for (const Device device : devices_of(tensors)) {
    std::vector<Tensor> here;
    for (const Tensor& x : tensors) {
      if (x.device() == device) here.push_back(x);
    }
    ScaleByCall call(static_cast<int64_t>(here.size()));
    for (size_t i = 0; i < here.size(); ++i) {
      const bool dense = is_dense(here[i].sizes(), here[i].strides());
      call.x[static_cast<int64_t>(i)] = dense ? flat(here[i]) : View(here[i]);
    }
    const Tensor near = to(factor, device);
    call.factor = near;
    run(op::scale_by, call);
  }
  for (const Tensor& x : tensors) x.bump_version();
}

void optimizer_update(const std::string& optimizer, TensorList params, TensorList grads,
                      TensorList states, const Operand& lr, Span<const double> settings,
                      bool first) {
  optimizer_update_unless(optimizer, params, grads, states, lr, settings, first, {});
}

void check_not_capturing() {
  DT_CHECK(!context().graph, kRuntimeError,
           "the first step makes the optimizer's state: run it once before a step is captured");
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
    const bool is_whole = std::isfinite(norm_type) && std::floor(norm_type) == norm_type;
    DT_CHECK(std::isfinite(item(total).to_double()), kRuntimeError, "The total norm of order ",
             norm_type, is_whole ? ".0" : "",  // as Python writes it
             " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable "
             "this error and scale "
             "the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`");
  }
  const Tensor factor = clamp_max(mul(reciprocal(add(total, 1e-6)), max_norm), 1.0);
  multiply_(grads, factor);
  return total;
}

}  // namespace dt
