// Optimizer steps over lists of tensors: one pass over memory, all tensors' elements shared out
// together.
#include "kernels/calls/optim.gen.h"
#include "kernels/cpu/tile_move.h"
#include "kernels/cpu/workers.h"
#include "kernels/math.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTaskElements = 8192;

// ---- walking over the elements of a list

// Whether the elements fill a range of memory without gaps, in whatever order: then one loop does
// them all.
inline bool is_filled(const dt_view& view) {
  int64_t reach = 1, n = 1;
  for (int d = 0; d < view.ndim; ++d) {
    if (view.strides[d] < 0) return false;
    reach += (view.sizes[d] - 1) * view.strides[d];
    n *= view.sizes[d];
  }
  return reach == n;
}

// Calls body(offset, n) for every contiguous run of elements with logical indices in [begin, end).
template <class Body>
inline void for_each_run(const dt_view& view, int64_t begin, int64_t end, const Body& body) {
  if (is_filled(view)) {
    body(begin, end - begin);
    return;
  }
  const int last = view.ndim - 1;
  const int64_t row = view.strides[last] == 1 ? view.sizes[last] : 1;
  while (begin < end) {
    int64_t rest = begin, offset = 0;
    for (int d = last; d >= 0; --d) {
      offset += rest % view.sizes[d] * view.strides[d];
      rest /= view.sizes[d];
    }
    const int64_t n = min(end - begin, row - begin % row);
    body(offset, n);
    begin += n;
  }
}

// Where each tensor starts when all are laid end to end; starts[k] is the sum. This is the
// workspace.
inline void find_starts(const calls::Views& views, int64_t* starts) {
  starts[0] = 0;
  for (int64_t i = 0; i < views.n; ++i) starts[i + 1] = starts[i] + count(views[i]);
}

inline int64_t tensor_at(const int64_t* starts, int64_t k, int64_t element) {
  int64_t low = 0, high = k;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (starts[middle] <= element ? low : high) = middle;
  }
  return low;
}

// Calls body(tensor, offset, n) for contiguous runs that cover all tensors of a list.
template <class Body>
inline void for_each_element(const dt_stream* stream, const calls::Views& views, void* workspace,
                             int64_t cycles, const Body& body) {
  const int64_t k = views.n;
  int64_t* const starts = static_cast<int64_t*>(workspace);
  find_starts(views, starts);
  const int64_t total = starts[k];
  if (total == 0) return;
  const int64_t tasks = worth_threads(stream, total * cycles) ? ceil_div(total, kTaskElements) : 1;
  const auto run = [&](int64_t task) {
    const int64_t end = total * (task + 1) / tasks;
    int64_t element = total * task / tasks;
    for (int64_t i = tensor_at(starts, k, element); element < end; ++i) {
      const int64_t stop = min(end, starts[i + 1]), start = starts[i];
      for_each_run(views[i], element - start, stop - start,
                   [&](int64_t offset, int64_t n) { body(i, offset, n); });
      element = stop;
    }
  };
  parallel_for(stream, tasks, run);
}

int64_t starts_bytes(const calls::Views& views) {
  return (views.n + 1) * static_cast<int64_t>(sizeof(int64_t));
}

// Calls body(T()) with the arithmetic type of a dtype; false if there is none.
template <class Body>
inline bool with_type(int32_t dtype, const Body& body) {
  if (dtype == DT_FLOAT32) body(float());
  if (dtype == DT_FLOAT64) body(double());
  return dtype == DT_FLOAT32 || dtype == DT_FLOAT64;
}

inline bool is_floating(const dt_view& view) {
  return view.dtype == DT_FLOAT32 || view.dtype == DT_FLOAT64;
}

inline bool all_floating(const calls::Views& views) {
  for (const dt_view& view : views) {
    if (!is_floating(view)) return false;
  }
  return true;
}

// One floating number.
inline double number_of(const dt_view& view) {
  if (view.immediate) return view.number.f;
  return view.dtype == DT_FLOAT32 ? static_cast<double>(*data<float>(view)) : *data<double>(view);
}

// ---- SGD

template <class T>
struct Sgd {
  T lr, momentum, keep, weight_decay, sign;  // keep = 1 - dampening
  bool nesterov, first_step;

  explicit Sgd(const calls::Sgd& call)
      : lr(static_cast<T>(number_of(call.lr))),
        momentum(static_cast<T>(call.momentum)),
        keep(static_cast<T>(1 - call.dampening)),
        weight_decay(static_cast<T>(call.weight_decay)),
        sign(call.maximize ? T(-1) : T(1)),
        nesterov(call.nesterov),
        first_step(call.first_step) {}

  T gradient(T grad, T param) const {
    const T g = sign * grad;
    return weight_decay != T(0) ? g + weight_decay * param : g;
  }

  void plain(T* param, const T* grad, int64_t n) const {
    DT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) param[i] -= lr * gradient(grad[i], param[i]);
  }

  // The first buffer is the gradient itself, undampened.
  void with_momentum(T* param, T* buffer, const T* grad, int64_t n) const {
    DT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T g = gradient(grad[i], param[i]), old = buffer[i];
      const T b = first_step ? g : momentum * old + keep * g;
      buffer[i] = b;
      param[i] -= lr * (nesterov ? g + momentum * b : b);
    }
  }
};

// ---- Adam

template <class T>
struct Adam {
  T decay, coupled_decay, sign, beta1_rest, beta2, beta2_rest, eps;
  T step_size, inverse_root;  // lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)

  Adam(const calls::Adam& call, double lr, double step)
      : decay(static_cast<T>(call.decoupled ? 1 - lr * call.weight_decay : 1)),
        coupled_decay(static_cast<T>(call.decoupled ? 0 : call.weight_decay)),
        sign(call.maximize ? T(-1) : T(1)),
        beta1_rest(static_cast<T>(1 - call.beta1)),
        beta2(static_cast<T>(call.beta2)),
        beta2_rest(static_cast<T>(1 - call.beta2)),
        eps(static_cast<T>(call.eps)),
        step_size(static_cast<T>(lr / (1 - math::pow(call.beta1, step)))),
        inverse_root(static_cast<T>(1 / math::sqrt(1 - math::pow(call.beta2, step)))) {}

  template <bool kAmsgrad>
  void run(T* param, T* exp_avg, T* exp_avg_sq, T* max_exp_avg_sq, const T* grad, int64_t n) const {
    DT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T p = param[i] * decay;
      const T signed_grad = sign * grad[i];
      const T g = coupled_decay != T(0) ? signed_grad + coupled_decay * p : signed_grad;
      const T m = exp_avg[i] + beta1_rest * (g - exp_avg[i]);
      const T v = beta2 * exp_avg_sq[i] + beta2_rest * g * g;
      T scale = v;
      exp_avg[i] = m;
      exp_avg_sq[i] = v;
      if constexpr (kAmsgrad) {
        scale = math::maximum(max_exp_avg_sq[i], v);
        max_exp_avg_sq[i] = scale;
      }
      param[i] = p - step_size * m / (math::sqrt(scale) * inverse_root + eps);
    }
  }
};

// All tensors of a list are usually at the same step, whose powers of beta cost more than a small
// tensor's update: they are computed once, for the first tensor.
struct Adams {
  float step;
  Adam<float> single;
  Adam<double> precise;

  Adams(const calls::Adam& call, double lr, float step)
      : step(step), single(call, lr, step), precise(call, lr, step) {}
  const Adam<float>& get(float) const { return single; }
  const Adam<double>& get(double) const { return precise; }
};

}  // namespace

int32_t kernels::sgd(const dt_stream* stream, const calls::Sgd& call) {
  if (!all_floating(call.grad) || !is_floating(call.lr)) return DT_KERNEL_UNSUPPORTED;
  const auto body = [&](int64_t i, int64_t offset, int64_t n) {
    with_type(call.param[i].dtype, [&](auto type) {
      using T = decltype(type);
      const Sgd<T> step(call);
      T* param = data<T>(call.param[i]) + offset;
      const T* grad = data<T>(call.grad[i]) + offset;
      if (call.momentum_buffer.empty()) {
        step.plain(param, grad, n);
      } else {
        step.with_momentum(param, data<T>(call.momentum_buffer[i]) + offset, grad, n);
      }
    });
  };
  for_each_element(stream, call.param, call.workspace, 2, body);
  return DT_KERNEL_OK;
}

int64_t kernels::sgd_workspace(const dt_stream*, const calls::Sgd& call) {
  return starts_bytes(call.param);
}

int32_t kernels::adam(const dt_stream* stream, const calls::Adam& call) {
  if (!all_floating(call.grad) || !is_floating(call.lr)) return DT_KERNEL_UNSUPPORTED;
  if (call.k == 0) return DT_KERNEL_OK;
  // Before any task reads them: a tensor may be shared out between tasks.
  for (const dt_view& step : call.step) *data<float>(step) += 1.0f;
  const double lr = number_of(call.lr);
  const Adams common(call, lr, *data<float>(call.step[0]));
  const auto body = [&](int64_t i, int64_t offset, int64_t n) {
    with_type(call.param[i].dtype, [&](auto type) {
      using T = decltype(type);
      const float at = *data<float>(call.step[i]);
      const Adam<T> step =
          at == common.step ? common.get(T()) : Adam<T>(call, lr, static_cast<double>(at));
      T* param = data<T>(call.param[i]) + offset;
      T* exp_avg = data<T>(call.exp_avg[i]) + offset;
      T* exp_avg_sq = data<T>(call.exp_avg_sq[i]) + offset;
      const T* grad = data<T>(call.grad[i]) + offset;
      if (call.max_exp_avg_sq.empty()) {
        step.template run<false>(param, exp_avg, exp_avg_sq, nullptr, grad, n);
      } else {
        step.template run<true>(param, exp_avg, exp_avg_sq,
                                data<T>(call.max_exp_avg_sq[i]) + offset, grad, n);
      }
    });
  };
  for_each_element(stream, call.param, call.workspace, 4, body);
  return DT_KERNEL_OK;
}

int64_t kernels::adam_workspace(const dt_stream*, const calls::Adam& call) {
  return starts_bytes(call.param);
}

// As gradient clipping needs it.
int32_t kernels::scale_by(const dt_stream* stream, const calls::ScaleBy& call) {
  if (!all_floating(call.x) || !is_floating(call.factor)) return DT_KERNEL_UNSUPPORTED;
  const double by = number_of(call.factor);
  const auto body = [&](int64_t i, int64_t offset, int64_t n) {
    with_type(call.x[i].dtype, [&](auto type) {
      using T = decltype(type);
      T* x = data<T>(call.x[i]) + offset;
      const T scale = static_cast<T>(by);
      for (int64_t j = 0; j < n; ++j) x[j] *= scale;
    });
  };
  for_each_element(stream, call.x, call.workspace, 1, body);
  return DT_KERNEL_OK;
}

int64_t kernels::scale_by_workspace(const dt_stream*, const calls::ScaleBy& call) {
  return starts_bytes(call.x);
}

}  // namespace dt::cpu
