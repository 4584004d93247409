// One share of the elementwise kernels: see pointwise_kernel.cuh.
#include "kernels/cuda/pointwise_number.cuh"
#include "kernels/cuda/power.cuh"
#include "kernels/functors_5.gen.h"

namespace dt::cuda {
namespace {

struct PowerByNumber : ByNumber<fn::power> {
  static constexpr int kParameters = 3;

  template <class T>
  static bool prepare(double* parameters) {
    if (!std::is_same_v<T, float>) return true;
    const Exponent exponent(static_cast<float>(parameters[0]));
    parameters[1] = exponent.of_negative, parameters[2] = exponent.turned;
    return exponent.is_usual();
  }
  template <class T>
  static __device__ __forceinline__ T y(const T* parameters, T input) {
    if constexpr (std::is_same_v<T, float>)
      return power(input, parameters[0], parameters[1], parameters[2]);
    else
      return ByNumber::y(parameters, input);
  }
};

template <>
int32_t pointwise<fn::power, NUM>(const dt_stream* stream, const calls::Pointwise& call) {
  return pointwise_by_number<fn::power, PowerByNumber>(stream, call);
}

}  // namespace

DT_POINTWISE_SHARE(DT_POINTWISE_KERNEL, DT_POINTWISE_SAME)

}  // namespace dt::cuda
