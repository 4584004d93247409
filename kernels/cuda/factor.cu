// Factorisations of matrices: a block of threads works on one matrix at a time, in double precision
// and in device memory.
#include "kernels/cuda/factor_spectrum.h"

#include <algorithm>

#include "kernels/cuda/launch.cuh"

namespace dt::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostScratch = int64_t{1} << 28;  // bytes, unless one matrix needs more

class Team {
 public:
  template <class F>
  __device__ void each(int64_t n, int64_t, const F& f) const {
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n; i += kThreads) f(i, i + 1);
    __syncthreads();
  }
  template <class F>
  __device__ void once(const F& f) const {
    __syncthreads();
    if (threadIdx.x == 0) f();
    __syncthreads();
  }
  __device__ void subtract(factor::Matrix c, factor::Matrix a, factor::Matrix b, int64_t m,
                           int64_t n, int64_t k) const {
    each(m * n, k, [=](int64_t at, int64_t) {
      const int64_t i = at / n, j = at % n;
      double sum = c[i][j];
      for (int64_t r = 0; r < k; ++r) sum -= a[i][r] * b[r][j];
      c[i][j] = sum;
    });
  }
  __device__ double dot(const double* a, const double* b, int64_t n) const {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }
  __device__ void add_scaled(double* y, double factor, const double* x, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
  }
  __device__ void rotate(double* x, double* y, double c, double s, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      const double old = x[i];
      x[i] = c * old + s * y[i];
      y[i] = c * y[i] - s * old;
    }
  }
};

template <class Problem>
__global__ void __launch_bounds__(kThreads)
    solve_each(const __grid_constant__ Problem problem, int64_t matrices, double* scratch) {
  begin_kernel();
  Team team;
  for (int64_t n = blockIdx.x; n < matrices; n += gridDim.x)
    problem.solve(team, n, scratch + blockIdx.x * problem.scratch());
}

template <class Problem>
int64_t blocks_for(const dt_stream* stream, const Problem& problem) {
  const int64_t bytes = std::max<int64_t>(1, problem.scratch()) * int64_t{sizeof(double)};
  const int64_t most = std::min<int64_t>(kMostScratch / bytes, 8 * multiprocessors(stream->device));
  return std::min(problem.matrices(), std::max<int64_t>(1, most));
}

template <class Problem>
int32_t solve(const dt_stream* stream, const Problem& problem, void* workspace) {
  return launch(stream, solve_each<Problem>,
                dim3(static_cast<unsigned>(blocks_for(stream, problem))), dim3(kThreads), 0,
                problem, problem.matrices(), static_cast<double*>(workspace));
}

template <class Problem>
int64_t workspace_of(const dt_stream* stream, const Problem& problem) {
  return blocks_for(stream, problem) * problem.scratch() * int64_t{sizeof(double)};
}

}  // namespace

#define DT_FACTOR_KERNEL(NAME, CALL, PROBLEM)                                           \
  int32_t kernels::NAME(const dt_stream* stream, const calls::CALL& call) {             \
    return solve(stream, factor::PROBLEM(call), call.workspace);                        \
  }                                                                                     \
  int64_t kernels::NAME##_workspace(const dt_stream* stream, const calls::CALL& call) { \
    return workspace_of(stream, factor::PROBLEM(call));                                 \
  }
DT_FACTOR_KERNELS(DT_FACTOR_KERNEL)
#undef DT_FACTOR_KERNEL

}  // namespace dt::cuda
