// What a step of an optimizer (optimizers.gen.h) is on both backends.
#pragma once

#include "kernels/calls/optimizer.h"
#include "kernels/dtype.h"
#include "kernels/optimizers.gen.h"

namespace dt::optim {

inline bool all_floating(const calls::Views& views) {
  for (const dt_view& view : views) {
    if (!is_floating(view.dtype)) return false;
  }
  return true;
}

inline bool are_floating(const calls::Optimizer& call) {
  return all_floating(call.grad) && is_floating(call.lr.dtype) && is_floating(call.found_inf.dtype);
}

// The scalars of the parameters, which follow the lists of state that there are.
template <class Optimizer>
class StateScalars {
 public:
  StateScalars(const calls::Optimizer& call, unsigned present)
      : k_(call.k), first_(call.param + (1 + lists_before(present, Optimizer::kLists)) * k_) {}
  void of(int64_t parameter, float** out) const {
    for (int s = 0; s < Optimizer::kScalars; ++s)
      out[s] = static_cast<float*>(first_[s * k_ + parameter].data);
  }

 private:
  int64_t k_;
  const dt_view* first_;
};

template <unsigned kLists>
struct Present {
  static constexpr unsigned kPresent = kLists;
};

// Calls body(Present<...>()) for the lists of state that there are.
template <class Optimizer, unsigned kPresent = (1u << Optimizer::kLists) - 1, class Body>
int32_t visit_present(unsigned present, const Body& body) {
  if (kPresent == present) return body(Present<kPresent>());
  if constexpr (kPresent != Optimizer::kAlways) {
    constexpr unsigned kOptional = kPresent & ~Optimizer::kAlways;
    constexpr unsigned kNext = ((kOptional - 1) & ~Optimizer::kAlways) | Optimizer::kAlways;
    return visit_present<Optimizer, kNext>(present, body);
  }
  return DT_KERNEL_UNSUPPORTED;
}

}  // namespace dt::optim
