// LU factors of small matrices, by the arithmetic of their own dtype as in LAPACK: a lane has a row
// in its registers. Rows stay where they are; each lane knows to which place exchanges have brought
// its own.
#include <algorithm>

#include "kernels/cuda/in_registers.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/shuffle.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/factor.h"

namespace dt::cuda {
namespace {

using factor::Matrices;

constexpr int kMostRows = 32, kLuThreads = 128;

struct SmallLu {
  Matrices lu, pivots, info, a;
};

// The lane's row of a matrix, with zeros around it. Lanes read side by side what lies side by side,
// and find their rows in `tile`; its lines are an odd distance apart, so that they meet in no bank.
template <class T, int kSize>
__device__ __forceinline__ void load_row(T (&x)[kSize], T* tile, const Matrices& a, int64_t n,
                                         int lane) {
  constexpr int kPitch = kSize + 1;
  const bool along_rows = a.col <= a.row;
  const Matrices from = along_rows ? a : a.turned();
  const T* const data = static_cast<const T*>(from.data);
#pragma unroll
  for (int i = 0; i < kSize; ++i)
    x[i] = i < from.rows && lane < from.cols ? data[from.at(n, i, lane)] : T(0);
#pragma unroll
  for (int i = 0; i < kSize; ++i) tile[along_rows ? i * kPitch + lane : lane * kPitch + i] = x[i];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < kSize; ++j) x[j] = tile[lane * kPitch + j];
}

// As lanes_reduce, for what commutes to the bit: no lane asks on which side it is.
template <int kLanes, class T, class Merge>
__device__ __forceinline__ T over_lanes(T value, const Merge& merge) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) value = merge(value, exchange(value, step));
  return value;
}

// Where the first of the largest elements from place k on is: its place times kSize, and its lane.
// A NaN counts only at the first of these places, where one always counts.
template <int kSize, class T>
__device__ __forceinline__ int find_pivot(T element, int place, int lane, int k) {
  T size = factor::magnitude(element);
  if (size != size) size = place == k ? T(math::kInfinity) : T(-1);
  if (place < k) size = -1;
  const T most = over_lanes<kSize>(size, [](T a, T b) { return fmax(a, b); });
  const int own = size == most ? place * kSize + lane : kSize * kSize;
  return over_lanes<kSize>(own, [](int a, int b) { return min(a, b); });
}

template <class T, int kSize>
__global__ void __launch_bounds__(kLuThreads) lu_kernel(const __grid_constant__ SmallLu call) {
  begin_kernel();
  constexpr int kTeams = kLuThreads / kSize;
  __shared__ T tile[kTeams][kSize * (kSize + 1)];
  const int lane = static_cast<int>(threadIdx.x % kSize);
  const int team = static_cast<int>(threadIdx.x / kSize);
  const int64_t number = int64_t{blockIdx.x} * kTeams + team;
  // Lanes of a warp exchange what they have together: those of no matrix repeat the first.
  const bool exists = number < call.a.matrices;
  const int64_t n = exists ? number : 0;
  T x[kSize];
  load_row(x, tile[team], call.a, n, lane);
  const int rows = static_cast<int>(call.a.rows), cols = static_cast<int>(call.a.cols);
  const int steps = factor::least(rows, cols);
  int place = lane, exchanged = 0, failed = 0;
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    if (k >= steps) break;
    const int found = find_pivot<kSize>(x[k], place, lane, k), pivot = found / kSize;
    if (lane == k) exchanged = pivot + 1;
    place = place == pivot ? k : place == k ? pivot : place;
    T u[kSize];
#pragma unroll
    for (int j = k; j < kSize; ++j) u[j] = shuffle<kSize>(x[j], found % kSize);
    if (u[k] == 0 && failed == 0) failed = k + 1;
    if (place > k) {
      if (u[k] != 0) x[k] /= u[k];
#pragma unroll
      for (int j = k + 1; j < kSize; ++j) x[j] -= x[k] * u[j];
    }
  }
  if (!exists) return;
  if (lane == 0) call.info.store(n, 0, 0, failed);
  if (lane < steps) call.pivots.store(n, 0, lane, exchanged);
  if (place >= rows) return;
  T* const lu = static_cast<T*>(call.lu.data);
#pragma unroll
  for (int j = 0; j < kSize; ++j) {
    if (j < cols) lu[call.lu.at(n, place, j)] = x[j];
  }
}

template <class T, int kSize>
int32_t launch_lu(const dt_stream* stream, const SmallLu& call) {
  const int64_t blocks = divide_up(call.a.matrices, kLuThreads / kSize);
  return launch(stream, lu_kernel<T, kSize>, dim3(static_cast<unsigned>(blocks)), dim3(kLuThreads),
                0, call);
}

template <class T>
int32_t launch_lu(const dt_stream* stream, const SmallLu& call) {
  const int64_t most = std::max(call.a.rows, call.a.cols);
  if (most <= 8) return launch_lu<T, 8>(stream, call);
  if (most <= 16) return launch_lu<T, 16>(stream, call);
  return launch_lu<T, kMostRows>(stream, call);
}

}  // namespace

bool fits_registers(const calls::LuFactor& call) {
  const Matrices a(call.a);
  return std::max(a.rows, a.cols) <= kMostRows;
}

int32_t solve_in_registers(const dt_stream* stream, const calls::LuFactor& call) {
  const SmallLu small = {Matrices(call.lu), Matrices(call.pivots), Matrices(call.info),
                         Matrices(call.a)};
  return holds<double>(call.a.dtype) ? launch_lu<double>(stream, small)
                                     : launch_lu<float>(stream, small);
}

}  // namespace dt::cuda
