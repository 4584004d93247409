// Formulas of two inputs whose second is in most calls one number for all elements, and dear: what
// follows from the number alone a thread works out once, and it takes no registers of each element.
#pragma once

#include "kernels/cuda/pointwise_kernel.cuh"

namespace dt::cuda {
namespace {

// F with its second input as a parameter.
template <class F>
struct ByNumber {
  static_assert(F::n_in == 2 && F::bool_in == 0, "there is one input beside the number");
  static constexpr int n_in = 1, n_out = F::n_out;
  static constexpr unsigned bool_in = 0;
  static constexpr bool bool_out = F::bool_out;
  template <class T>
  static DT_FN T y(const T* number, T input) {
    return F::template y<T>(nullptr, input, *number);
  }
};

// Calls F's kernels, or those of Of, which is F by a number, where that takes the number: then
// prepare<T>() puts what follows from it behind it, as parameters.
template <class F, class Of>
int32_t pointwise_by_number(const dt_stream* stream, const calls::Pointwise& call) {
  const dt_view& second = call.inputs.last();
  double reals[Of::kParameters] = {number_as<double>(second)};
  const int64_t wholes[Of::kParameters] = {is_floating(call.compute) ? 0
                                                                     : number_as<int64_t>(second)};
  const calls::Pointwise by_number = call.with(Of::kParameters, reals, wholes);
  return visit_compute<Category::INTEGER, Category::FLOATING>(call.compute, [&](auto type) {
    using T = typename decltype(type)::type;
    return second.immediate && Of::template prepare<T>(reals)
               ? run_pointwise(stream, by_number, pointwise_of<Of, T>())
               : run_pointwise(stream, call, pointwise_of<F, T>());
  });
}

}  // namespace
}  // namespace dt::cuda
