// Optimizer steps over lists of tensors: one pass over memory, all tensors' elements shared out
// together. What a step computes is in optimizers.gen.h.
#include <utility>

#include "kernels/calls/optim.gen.h"
#include "kernels/calls/optimizers.gen.h"
#include "kernels/cpu/common.h"
#include "kernels/cpu/tile_move.h"
#include "kernels/cpu/workers.h"
#include "kernels/math.h"
#include "kernels/optimizer_step.h"

namespace dt::cpu {
namespace {

constexpr int64_t kTaskElements = 8192;

// ---- walking over the elements of a list

// One loop does them all. Core hands in what is dense as one dimension.
inline bool is_run(const dt_view& view) {
  return view.ndim == 1 && view.strides[0] == 1;
}

// Calls body(offset, n) for every contiguous run of elements with logical indices in [begin, end).
template <class Body>
inline void for_each_run(const dt_view& view, int64_t begin, int64_t end, const Body& body) {
  if (is_run(view)) {
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

int64_t starts_bytes(int64_t k) {
  return (k + 1) * static_cast<int64_t>(sizeof(int64_t));
}

// One floating number.
inline double number_of(const dt_view& view) {
  if (view.immediate) return view.number.f;
  double number = 0;
  visit_floating(view.dtype, [&](auto type) {
    number = static_cast<double>(*data<typename decltype(type)::type>(view));
  });
  return number;
}

// ---- optimizers

inline double power(double base, double exponent) {
  return math::pow(base, exponent);
}

// What the updates of all parameters go by. All tensors of a list are usually at the same step,
// whose powers cost more than a small tensor's update: equal scalars are prepared once.
template <class Optimizer>
class PreparedList {
 public:
  using Prepared = typename Optimizer::Prepared;

  // `prepared` has room for one Prepared for each of k parameters.
  PreparedList(const typename Optimizer::Settings& settings,
               const optim::StateScalars<Optimizer>& scalars, int64_t k, Prepared* prepared)
      : prepared_(prepared) {
    constexpr int n = Optimizer::kScalars > 0 ? Optimizer::kScalars : 1;
    float before[n] = {}, after[n] = {};
    for (int64_t i = 0; i < k; ++i) {
      float* scalar[n];
      scalars.of(i, scalar);
      bool same = i > 0;
      for (int s = 0; s < Optimizer::kScalars; ++s) same &= *scalar[s] == before[s];
      if (same) {
        for (int s = 0; s < Optimizer::kScalars; ++s) *scalar[s] = after[s];
        prepared_[i] = prepared_[i - 1];
        continue;
      }
      for (int s = 0; s < Optimizer::kScalars; ++s) before[s] = *scalar[s];
      prepared_[i] = Optimizer::prepare(settings, scalar, power);
      for (int s = 0; s < Optimizer::kScalars; ++s) after[s] = *scalar[s];
    }
  }
  const Prepared& of(int64_t tensor) const { return prepared_[tensor]; }

 private:
  Prepared* prepared_;
};

// The lists are named one by one, for a loop over them would keep the one over elements from
// becoming vector code. The gradient is not written.
template <class T, class Update, class... List>
inline void update_run(Update update, int64_t n, const T* grad, List*... lists) {
  DT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    T x[] = {lists[i]..., grad[i]};
    update(x);
    int k = 0;
    ((lists[i] = x[k++]), ...);
  }
}

template <class T, class Update, int... kLists>
inline void update_run(const Update& update, int64_t n, const T* grad, T* const* lists,
                       std::integer_sequence<int, kLists...>) {
  update_run<T>(update, n, grad, lists[kLists]...);
}

template <class Optimizer, unsigned kPresent>
int32_t step_with(const dt_stream* stream, const calls::Optimizer& call,
                  const typename Optimizer::Settings& settings) {
  using Prepared = typename Optimizer::Prepared;
  constexpr int kLists = 1 + optim::lists_before(kPresent, Optimizer::kLists);  // written
  auto* const memory =
      reinterpret_cast<Prepared*>(static_cast<char*>(call.workspace) + starts_bytes(call.k));
  const PreparedList<Optimizer> prepared(settings, optim::StateScalars<Optimizer>(call, kPresent),
                                         call.k, memory);
  const auto body = [&](int64_t i, int64_t offset, int64_t n) {
    visit_floating(call.param[i].dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      T* at[kLists];
      for (int l = 0; l < kLists; ++l) at[l] = data<T>(call.param[l * call.k + i]) + offset;
      const T* grad = data<T>(call.grad[i]) + offset;
      const typename Optimizer::template Update<T, kPresent> update(prepared.of(i));
      update_run<T>(update, n, grad, at, std::make_integer_sequence<int, kLists>());
    });
  };
  for_each_element(stream, {call.param, call.k}, call.workspace, kLists + 1, body);
  return DT_KERNEL_OK;
}

template <class Optimizer>
int32_t step(const dt_stream* stream, const calls::Optimizer& call) {
  if (!optim::are_floating(call)) return DT_KERNEL_UNSUPPORTED;
  if (call.k == 0 || number_of(call.found_inf) != 0) return DT_KERNEL_OK;
  const typename Optimizer::Settings settings(call, number_of(call.lr));
  return optim::visit_present<Optimizer>(Optimizer::present(settings), [&](auto lists) {
    return step_with<Optimizer, decltype(lists)::kPresent>(stream, call, settings);
  });
}

template <class Optimizer>
int64_t step_bytes(const calls::Optimizer& call) {
  return starts_bytes(call.k) + call.k * static_cast<int64_t>(sizeof(typename Optimizer::Prepared));
}

}  // namespace

#define DT_ROW(Name, name)                                                            \
  int32_t kernels::name(const dt_stream* stream, const calls::Optimizer& call) {      \
    return step<optim::Name>(stream, call);                                           \
  }                                                                                   \
  int64_t kernels::name##_workspace(const dt_stream*, const calls::Optimizer& call) { \
    return step_bytes<optim::Name>(call);                                             \
  }
DT_OPTIMIZERS(DT_ROW)
#undef DT_ROW

// As gradient clipping needs it.
int32_t kernels::scale_by(const dt_stream* stream, const calls::ScaleBy& call) {
  if (!optim::all_floating(call.x) || !is_floating(call.factor.dtype)) return DT_KERNEL_UNSUPPORTED;
  const double by = number_of(call.factor);
  const auto body = [&](int64_t i, int64_t offset, int64_t n) {
    visit_floating(call.x[i].dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      T* x = data<T>(call.x[i]) + offset;
      const T scale = static_cast<T>(by);
      for (int64_t j = 0; j < n; ++j) x[j] *= scale;
    });
  };
  for_each_element(stream, call.x, call.workspace, 1, body);
  return DT_KERNEL_OK;
}

int64_t kernels::scale_by_workspace(const dt_stream*, const calls::ScaleBy& call) {
  return starts_bytes(call.k);
}

}  // namespace dt::cpu
