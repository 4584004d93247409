// Random counts: see random_counts.h and random.toml. A thread makes an element.
#include "kernels/random_counts.h"

#include "kernels/calls/random.gen.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/types.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 128;

struct Poisson {
  const double* rate;
  __device__ __forceinline__ double make(int64_t i, philox::Uniforms own) const {
    return philox::poisson(rate[i], own);
  }
};

struct Binomial {
  const double *count, *prob;
  __device__ __forceinline__ double make(int64_t i, philox::Uniforms own) const {
    return philox::binomial(count[i], prob[i], own);
  }
};

const double* numbers(const dt_view& x) {
  return static_cast<const double*>(x.data);
}

// `state`: {seed, offset} on the device, so that a captured graph draws fresh numbers.
template <class Maker>
__global__ void __launch_bounds__(kThreads)
    count_kernel(double* y, int64_t n, const uint64_t* state, uint64_t advance, Maker maker) {
  begin_kernel();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= n) return;
  const philox::Uniforms own = {state[1] + advance + static_cast<uint64_t>(i), state[0], 0};
  y[i] = maker.make(i, own);
}

template <class Call, class Maker>
int32_t draw(const dt_stream* stream, const Call& call, const Maker& maker) {
  const int64_t n = numel(call.y);
  return launch(stream, count_kernel<Maker>,
                dim3(static_cast<unsigned>(divide_up(n, int64_t{kThreads}))), dim3(kThreads), 0,
                static_cast<double*>(call.y.data), n, static_cast<const uint64_t*>(call.state.data),
                static_cast<uint64_t>(call.advance), maker);
}

}  // namespace

int32_t kernels::poisson(const dt_stream* stream, const calls::Poisson& call) {
  return draw(stream, call, Poisson{numbers(call.rate)});
}

int32_t kernels::binomial(const dt_stream* stream, const calls::Binomial& call) {
  return draw(stream, call, Binomial{numbers(call.count), numbers(call.prob)});
}

}  // namespace dt::cuda
