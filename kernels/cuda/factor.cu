// Factorisations of matrices, in double precision: a block of threads works on one matrix at a time
// in device memory, or a warp or a part of one on a small one in shared memory.
#include "kernels/cuda/factor_spectrum.h"

#include <algorithm>

#include "kernels/cuda/in_registers.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/team.cuh"

namespace dt::cuda {
namespace {

constexpr int kBlockThreads = 256;
constexpr int64_t kMaxScratchBytes = int64_t{1} << 28;  // unless one matrix needs more
// Warps of a block whose matrices lie in shared memory, and the numbers that one needs at most for
// a warp to have it: 48 kB of a block. A matrix of few rows gets as many lanes, if what it needs is
// what a square one does beside as many right-hand sides.
constexpr int kWarpsPerBlock = 4;
constexpr int64_t kMaxWarpScratch = 1535;
template <int kLanes>
constexpr int64_t kMaxTeamScratch = 2 * kLanes* kLanes + 2 * kLanes;
constexpr int64_t kWarpsPerProcessor = 64;

// The team of factor_direct.h: a part of a warp, or a block.
template <int kThreads>
class MatrixTeam {
 public:
  template <class F>
  __device__ void each(int64_t n, int64_t, const F& f) const {
    wait();
    for (int64_t i = rank(); i < n; i += kThreads) f(i, i + 1);
    wait();
  }
  template <class F>
  __device__ void once(const F& f) const {
    wait();
    if (rank() == 0) f();
    wait();
  }
  // The first of the largest f(i), i < n; a NaN counts only where i is 0.
  template <class F>
  __device__ int64_t largest(int64_t n, const F& f) const {
    wait();
    Candidate best = {-1, n};
    for (int64_t i = rank(); i < n; i += kThreads) {
      const double value = f(i);
      if (i == 0 && value != value) best = {math::kInfinity, 0};
      if (value > best.value) best = {value, i};
    }
    best = team_reduce<kThreads>(best, [](const Candidate& a, const Candidate& b) {
      const bool is_later = b.value > a.value || (b.value == a.value && b.place < a.place);
      return is_later ? b : a;
    });
    return best.place < n ? best.place : 0;
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
    constexpr int kAtOnce = 4;  // that are read before the first is written
    int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
      double sum[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) sum[k] = y[i + k] + factor * x[i + k];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) y[i + k] = sum[k];
    }
    for (; i < n; ++i) y[i] += factor * x[i];
  }
  __device__ void rotate(double* x, double* y, double c, double s, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      const double old = x[i];
      x[i] = c * old + s * y[i];
      y[i] = c * y[i] - s * old;
    }
  }

 private:
  struct Candidate {
    double value;
    int64_t place;
  };

  __device__ static int64_t rank() {
    return threadIdx.x % kThreads;
  }
  __device__ static void wait() {
    if constexpr (kThreads > kWarp) {
      __syncthreads();
    } else {
      const unsigned team = 0xffffffffu >> (kWarp - kThreads);
      __syncwarp(team << (threadIdx.x % kWarp / kThreads * kThreads));
    }
  }
};

template <class Problem>
bool fits_warp(const Problem& problem) {
  return problem.scratch() <= kMaxWarpScratch;
}

template <class Problem>
__global__ void __launch_bounds__(kBlockThreads)
    block_per_matrix(const __grid_constant__ Problem problem, int64_t matrices, double* scratch) {
  begin_kernel();
  MatrixTeam<kBlockThreads> team;
  for (int64_t n = blockIdx.x; n < matrices; n += gridDim.x)
    problem.solve(team, n, scratch + blockIdx.x * problem.scratch());
}

// The numbers from one team's memory to the next one's: odd, so that teams of a warp, which are at
// the same place of theirs, use different banks.
template <class Problem>
__host__ __device__ int64_t stride_of(const Problem& problem) {
  return problem.scratch() | 1;
}

// A team beyond the last matrix repeats that one, since lanes of a warp exchange what they have
// found together.
template <int kLanes, class Problem>
__global__ void __launch_bounds__(kWarpsPerBlock* kWarp)
    team_per_matrix(const __grid_constant__ Problem problem, int64_t matrices) {
  begin_kernel();
  extern __shared__ double memory[];
  constexpr int64_t kTeams = kWarpsPerBlock * kWarp / kLanes;
  MatrixTeam<kLanes> team;
  const int64_t own = threadIdx.x / kLanes, last = matrices - 1;
  for (int64_t n = blockIdx.x * kTeams; n < matrices; n += gridDim.x * kTeams) {
    problem.solve(team, factor::least(n + own, last), memory + own * stride_of(problem));
    __syncwarp();
  }
}

template <class Problem>
int64_t block_count(const dt_stream* stream, const Problem& problem) {
  const int64_t bytes = std::max<int64_t>(1, problem.scratch()) * int64_t{sizeof(double)};
  const int64_t most =
      std::min<int64_t>(kMaxScratchBytes / bytes, 8 * multiprocessors(stream->device));
  return std::min(problem.matrices(), std::max<int64_t>(1, most));
}

template <int kLanes, class Problem>
int32_t solve_by_teams(const dt_stream* stream, const Problem& problem) {
  constexpr int64_t kTeams = kWarpsPerBlock * kWarp / kLanes;
  const int64_t matrices = problem.matrices();
  const int64_t most = kWarpsPerProcessor / kWarpsPerBlock * multiprocessors(stream->device);
  const auto blocks = static_cast<unsigned>(std::min(divide_up(matrices, kTeams), most));
  return launch(
      stream, team_per_matrix<kLanes, Problem>, dim3(blocks), dim3(kWarpsPerBlock * kWarp),
      static_cast<size_t>(kTeams * stride_of(problem)) * sizeof(double), problem, matrices);
}

template <class Problem>
int32_t solve(const dt_stream* stream, const Problem& problem, void* workspace) {
  const int64_t matrices = problem.matrices();
  if (problem.scratch() <= kMaxTeamScratch<4>) return solve_by_teams<4>(stream, problem);
  if (problem.scratch() <= kMaxTeamScratch<8>) return solve_by_teams<8>(stream, problem);
  if (fits_warp(problem)) return solve_by_teams<kWarp>(stream, problem);
  return launch(stream, block_per_matrix<Problem>,
                dim3(static_cast<unsigned>(block_count(stream, problem))), dim3(kBlockThreads), 0,
                problem, matrices, static_cast<double*>(workspace));
}

template <class Problem>
int64_t workspace_of(const dt_stream* stream, const Problem& problem) {
  if (fits_warp(problem)) return 0;
  return block_count(stream, problem) * problem.scratch() * int64_t{sizeof(double)};
}

}  // namespace

#define DT_FACTOR_KERNEL(NAME, CALL, PROBLEM)                                           \
  int32_t kernels::NAME(const dt_stream* stream, const calls::CALL& call) {             \
    if (fits_registers(call)) return solve_in_registers(stream, call);                  \
    return solve(stream, factor::PROBLEM(call), call.workspace);                        \
  }                                                                                     \
  int64_t kernels::NAME##_workspace(const dt_stream* stream, const calls::CALL& call) { \
    return fits_registers(call) ? 0 : workspace_of(stream, factor::PROBLEM(call));      \
  }
DT_FACTOR_KERNELS(DT_FACTOR_KERNEL)
#undef DT_FACTOR_KERNEL

}  // namespace dt::cuda
