// Eigenvalues and singular values of small matrices by Jacobi's rotations of one side (M. R.
// Hestenes, "Inversion of matrices by biorthogonalization and related results", 1958; Golub and
// Van Loan, "Matrix Computations", 4th edition, 8.6.3): pairs of columns are rotated until all are
// orthogonal to each other; their lengths are the singular values then. A lane has a column in its
// registers, and in each round of a sweep all lanes meet the lane whose number differs by the bits
// of the round, so that after a sweep every pair has met.
#include "kernels/cuda/in_registers.h"

#include <type_traits>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/team.cuh"
#include "kernels/factor.h"

namespace dt::cuda {
namespace {

using factor::Matrices;

constexpr unsigned kAll = 0xffffffffu;
constexpr int kMostRows = 32, kMostSweeps = 60;
constexpr double kHalfEpsilon = factor::kEpsilon / 2;

// A column that is shorter than `least` is 0, where the largest element of the matrix is about 1.
// It gets a direction of its own out of numbers about `size`, which are too small to be seen in
// others. Those of columns that are not the matrix's, of which vectors are made that complete the
// others, are too small to be seen in any that are.
struct Filling {
  double least, size;
};
constexpr Filling kOwn = {0x1p-120, 0x1p-75}, kFurther = {0x1p-220, 0x1p-200};
constexpr double kLeastValue = 0x1p-70;

template <int kRows>
constexpr int kColumns = kRows <= 8    ? 8
                         : kRows <= 16 ? 16
                                       : 32;

// To some 20 bits. `rsqrt` of the library takes care of ends of the numbers that are not met here.
__device__ __forceinline__ double roughly_rsqrt(double x) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  return y;
}
__device__ __forceinline__ double roughly_inverse(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  return y;
}

__device__ __forceinline__ double noise(int row, int column) {
  uint32_t bits = static_cast<uint32_t>(row * kMostRows + column + 1) * 0x9e3779b1u;
  bits = (bits ^ (bits >> 15)) * 0x85ebca6bu;
  bits ^= bits >> 13;
  return static_cast<double>(bits) * 0x1p-31 - 1;
}

// The matrix of this lane's team, and its place there.
template <int kRows>
struct Place {
  static constexpr int kLanes = kColumns<kRows>;
  int64_t matrix;
  int column;
  bool exists;

  __device__ __forceinline__ explicit Place(int64_t matrices)
      : matrix(int64_t{blockIdx.x} * (kWarp / kLanes) + threadIdx.x / kLanes),
        column(static_cast<int>(threadIdx.x % kLanes)),
        exists(matrix < matrices) {
    if (!exists) matrix = 0;
  }
};

template <int kRows>
__device__ __forceinline__ double dot(const double (&a)[kRows], const double (&b)[kRows]) {
  constexpr int kChains = 4;
  double sum[kChains] = {};
#pragma unroll
  for (int i = 0; i < kRows; ++i) sum[i % kChains] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// What a pair of columns is turned by: the first becomes c x - s y, the second c y + s x.
struct Turn {
  double c, s, change;  // change: what the square of the second's length grows by
};

// t = s / c solves t^2 + t (second - first) / dot = 1. That t is rough costs a part in a million of
// what the rotation takes away; c^2 + s^2 is 1.
__device__ __forceinline__ Turn turn_of(double first, double second, double product) {
  const double d = second - first, e = 2 * product, square = d * d + e * e;
  const double t = (d < 0 ? -e : e) * roughly_inverse(fabs(d) + square * roughly_rsqrt(square)),
               u = t * t + 1;
  double c = roughly_rsqrt(u);
#pragma unroll
  for (int i = 0; i < 2; ++i) c *= 1.5 - 0.5 * u * c * c;
  return {c, c * t, t * product};
}

template <int kRows>
__device__ __forceinline__ void turn(double (&x)[kRows], const double (&y)[kRows], double c,
                                     double s) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) x[i] = c * x[i] + s * y[i];
}

template <int kRows>
__device__ __forceinline__ void exchange(double (&y)[kRows], const double (&x)[kRows], int round) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) y[i] = __shfl_xor_sync(kAll, x[i], round);
}

// Lets each pair of a team's columns meet; whether one was not orthogonal. Columns of teams that
// are done stay as they are.
template <int kRows, bool kTurnsV>
__device__ __forceinline__ bool sweep(double (&x)[kRows], double (&v)[kRows], double tolerance,
                                      bool is_done) {
  double square = dot(x, x);
  bool found = false;
#pragma unroll 1
  for (int round = 1; round < kColumns<kRows>; ++round) {
    double y[kRows];
    exchange(y, x, round);
    const double product = dot(x, y), other = __shfl_xor_sync(kAll, square, round);
    const bool is_first = (threadIdx.x ^ round) > threadIdx.x;
    const bool turns = !is_done && product * product > tolerance * tolerance * (square * other);
    if (!__any_sync(kAll, turns)) continue;
    found |= turns;
    const Turn by = is_first ? turn_of(square, other, product) : turn_of(other, square, product);
    const double c = turns ? by.c : 1, s = turns ? (is_first ? -by.s : by.s) : 0;
    turn(x, y, c, s);
    square += turns ? (is_first ? -by.change : by.change) : 0;
    if constexpr (kTurnsV) {
      exchange(y, v, round);
      turn(v, y, c, s);
    }
  }
  return found;
}

// Whether something holds for one of the team's lanes.
template <int kLanes>
__device__ __forceinline__ bool any(bool holds) {
  return lanes_reduce<kLanes>(static_cast<int>(holds), [](int a, int b) { return a | b; }) != 0;
}

// Makes the columns orthogonal, of which the first `own` are the matrix's; the `kept` first ones
// get a direction, also those of no length. False where that takes too long, as it does for NaN.
template <int kRows, bool kTurnsV>
__device__ __forceinline__ bool make_orthogonal(double (&x)[kRows], double (&v)[kRows],
                                                const Place<kRows>& place, int rows, int own,
                                                int kept, double tolerance, bool is_done) {
  const Filling filling = place.column < own ? kOwn : kFurther;
  for (int i = 0; i < kMostSweeps; ++i) {
    const bool lacks = !is_done && place.column < kept && dot(x, x) < filling.least * filling.least;
    if (lacks) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) x[r] = r < rows ? filling.size * noise(r, place.column) : 0;
    }
    const bool found = sweep<kRows, kTurnsV>(x, v, tolerance, is_done);
    is_done |= !any<Place<kRows>::kLanes>(found || lacks);
    if (__all_sync(kAll, is_done)) break;
  }
  return is_done;
}

// Of a team's lanes.
template <int kLanes>
__device__ __forceinline__ double sum_of(double x) {
  return lanes_reduce<kLanes>(x, [](double a, double b) { return a + b; });
}
template <int kLanes>
__device__ __forceinline__ double largest_of(double x) {
  return lanes_reduce<kLanes>(x, [](double a, double b) { return b > a ? b : a; });
}

template <int kRows>
__device__ __forceinline__ double largest_magnitude(const double (&x)[kRows]) {
  double most = 0;
#pragma unroll
  for (int i = 0; i < kRows; ++i) most = fabs(x[i]) > most ? fabs(x[i]) : most;
  return most;
}

template <int kRows>
__device__ __forceinline__ bool is_finite(const double (&x)[kRows]) {
  bool finite = true;
#pragma unroll
  for (int i = 0; i < kRows; ++i) finite &= fabs(x[i]) < math::kInfinity;
  return finite;
}

// The power of 2 that makes the largest element of the team's columns about 1.
template <int kRows>
__device__ __forceinline__ int exponent_of(const double (&x)[kRows]) {
  const double most = largest_of<kColumns<kRows>>(largest_magnitude(x));
  return most > 0 && most < math::kInfinity ? -ilogb(most) : 0;
}

template <int kRows>
__device__ __forceinline__ void scale(double (&x)[kRows], int exponent) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) x[i] = scalbn(x[i], exponent);
}

// How many of the first n lanes come before this one, by their keys from the largest.
template <int kLanes>
__device__ __forceinline__ int rank_of(double key, int column, int n) {
  int rank = 0;
  for (int other = 0; other < n; ++other) {
    const double theirs = __shfl_sync(kAll, key, other, kLanes);
    rank += theirs > key || (theirs == key && other < column);
  }
  return rank;
}

// A column of a matrix, from or to a lane's registers. lower_only: what is above the diagonal is
// read where it lies below.
template <class T, int kRows>
__device__ __forceinline__ void load_column(double (&x)[kRows], const T* data, const Matrices& a,
                                            int64_t n, int column, bool lower_only) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const bool inside = i < a.rows && column < a.cols, turned = lower_only && i < column;
    x[i] = inside ? data[turned ? a.at(n, column, i) : a.at(n, i, column)] : 0;
  }
}

template <int kRows>
__device__ __forceinline__ void load_column(double (&x)[kRows], const Matrices& a, int64_t n,
                                            int column, bool lower_only) {
  if (a.dtype == dtype_of<double>)
    load_column(x, static_cast<const double*>(a.data), a, n, column, lower_only);
  else
    load_column(x, static_cast<const float*>(a.data), a, n, column, lower_only);
}

template <class T, int kRows>
__device__ __forceinline__ void store_column(T* data, const Matrices& y, int64_t n, int column,
                                             const double (&x)[kRows], double factor) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (i < y.rows) data[y.at(n, i, column)] = static_cast<T>(x[i] * factor);
  }
}

template <int kRows>
__device__ __forceinline__ void store_column(const Matrices& y, int64_t n, int column,
                                             const double (&x)[kRows], double factor) {
  if (y.dtype == dtype_of<double>)
    store_column(static_cast<double*>(y.data), y, n, column, x, factor);
  else
    store_column(static_cast<float*>(y.data), y, n, column, x, factor);
}

// What counts as orthogonal: the rounding of a sum of 32, and for float32 well below its epsilon.
double tolerance_of(int32_t dtype) {
  return dtype == dtype_of<double> ? kMostRows * 2 * kHalfEpsilon : 0x1p-28;
}

// ---- singular values

struct SmallSvd {
  Matrices u, s, vh, info, a;
  int kept;  // columns that need a direction
  double tolerance;
};

template <int kRows, bool kVectors>
__global__ void __launch_bounds__(kWarp) svd_kernel(const __grid_constant__ SmallSvd call) {
  begin_kernel();
  constexpr int kLanes = kColumns<kRows>;
  const Place<kRows> place(call.a.matrices);
  double x[kRows], v[kRows];
  load_column(x, call.a, place.matrix, place.column, false);
#pragma unroll
  for (int i = 0; i < kRows; ++i) v[i] = i == place.column ? 1 : 0;
  const bool is_bad = any<kLanes>(!is_finite(x));
  const int exponent = exponent_of(x), rows = static_cast<int>(call.a.rows);
  scale(x, exponent);
  const int n = static_cast<int>(call.a.cols);
  const bool converges = make_orthogonal<kRows, kVectors>(x, v, place, rows, n, call.kept,
                                                          call.tolerance, is_bad || !place.exists);
  const double length = sqrt(dot(x, x));
  const double value = place.column >= n ? -1 : length < kLeastValue ? 0 : length;
  // Vectors of no singular value keep their places behind all.
  int rank = rank_of<kLanes>(value, place.column, n);
  if (is_bad || place.column >= n) rank = place.column;
  if (!place.exists) return;
  if (place.column == 0) call.info.store(place.matrix, 0, 0, is_bad ? -4.0 : converges ? 0.0 : n);
  if (place.column < n) call.s.store(place.matrix, 0, rank, scalbn(value, -exponent));
  if constexpr (kVectors) {
    if (place.column < call.u.cols) store_column(call.u, place.matrix, rank, x, 1 / length);
    if (place.column < n) store_column(call.vh.turned(), place.matrix, rank, v, 1.0);
  }
}

// ---- symmetric eigenvalues

struct SmallEigh {
  Matrices w, v, info, a;
  double tolerance;
};

// x^T a x of a unit vector: as exact as the square of x's error.
template <class T, int kRows>
__device__ double rayleigh_quotient(const T* data, const Matrices& a, int64_t n, int exponent,
                                    const double (&x)[kRows]) {
  double all = 0;
#pragma unroll 1
  for (int i = 0; i < a.rows; ++i) {
    double sum = 0, own = 0;
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      if (k < a.rows)
        sum += scalbn(static_cast<double>(data[k <= i ? a.at(n, i, k) : a.at(n, k, i)]), exponent) *
               x[k];
      if (k == i) own = x[k];
    }
    all += own * sum;
  }
  return all;
}

// The matrix and enough of the identity that no eigenvalue is negative: then they are the singular
// values, and the orthogonal columns lie along their vectors.
template <int kRows>
__global__ void __launch_bounds__(kWarp) eigh_kernel(const __grid_constant__ SmallEigh call) {
  begin_kernel();
  constexpr int kLanes = kColumns<kRows>;
  const Place<kRows> place(call.a.matrices);
  const int n = static_cast<int>(call.a.rows);
  double x[kRows];
  load_column(x, call.a, place.matrix, place.column, true);
  const bool is_bad = any<kLanes>(!is_finite(x));
  const int exponent = exponent_of(x);
  scale(x, exponent);
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kRows; ++i) sum += fabs(x[i]);
  const double bound = fmin(largest_of<kLanes>(sum), sqrt(sum_of<kLanes>(dot(x, x))));
  const double shift = bound > 0 ? 1.25 * bound : 1;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (i == place.column && i < n) x[i] += shift;
  }
  const bool converges =
      make_orthogonal<kRows, false>(x, x, place, n, n, 0, call.tolerance, is_bad || !place.exists);
  const double factor = is_bad ? math::kInfinity - math::kInfinity : 1 / sqrt(dot(x, x));
#pragma unroll
  for (int i = 0; i < kRows; ++i) x[i] = place.column < n ? x[i] * factor : 0;
  const double value = call.a.dtype == dtype_of<double>
                           ? rayleigh_quotient(static_cast<const double*>(call.a.data), call.a,
                                               place.matrix, exponent, x)
                           : rayleigh_quotient(static_cast<const float*>(call.a.data), call.a,
                                               place.matrix, exponent, x);
  int rank = rank_of<kLanes>(-value, place.column, n);
  if (is_bad) rank = place.column;
  if (!place.exists) return;
  // As LAPACK's: what is not finite does not converge, but for a matrix that is solved at once.
  const bool fails = is_bad ? n > 2 : !converges;
  if (place.column == 0) call.info.store(place.matrix, 0, 0, fails ? n - 1.0 : 0.0);
  if (place.column >= n) return;
  call.w.store(place.matrix, 0, rank, scalbn(value, -exponent));
  if (call.v.data != nullptr) store_column(call.v, place.matrix, rank, x, 1.0);
}

// ---- on the host

template <class Run>
int32_t visit_rows(int64_t rows, const Run& run) {
  if (rows <= 8) return run(std::integral_constant<int, 8>());
  if (rows <= 16) return run(std::integral_constant<int, 16>());
  if (rows <= 24) return run(std::integral_constant<int, 24>());
  return run(std::integral_constant<int, 32>());
}

template <int kRows>
dim3 warps_for(int64_t matrices) {
  return dim3(static_cast<unsigned>(divide_up(matrices, kWarp / kColumns<kRows>)));
}

}  // namespace

bool fits_registers(const calls::Eigh& call) {
  return Matrices(call.a).rows <= kMostRows;
}

bool fits_registers(const calls::Svd& call) {
  return Matrices(call.a).rows <= kMostRows;
}

int32_t solve_in_registers(const dt_stream* stream, const calls::Eigh& call) {
  const SmallEigh small = {Matrices(call.w), Matrices(call.v), Matrices(call.info),
                           Matrices(call.a), tolerance_of(call.a.dtype)};
  return visit_rows(small.a.rows, [&](auto rows) {
    constexpr int kRows = decltype(rows)::value;
    return launch(stream, eigh_kernel<kRows>, warps_for<kRows>(small.a.matrices), dim3(kWarp), 0,
                  small);
  });
}

int32_t solve_in_registers(const dt_stream* stream, const calls::Svd& call) {
  SmallSvd small = {Matrices(call.u),          Matrices(call.s), Matrices(call.vh),
                    Matrices(call.info),       Matrices(call.a), 0,
                    tolerance_of(call.a.dtype)};
  const bool wants_vectors = small.vh.data != nullptr;
  small.kept = wants_vectors ? static_cast<int>(small.u.cols) : 0;
  return visit_rows(small.a.rows, [&](auto rows) {
    constexpr int kRows = decltype(rows)::value;
    return launch(stream, wants_vectors ? svd_kernel<kRows, true> : svd_kernel<kRows, false>,
                  warps_for<kRows>(small.a.matrices), dim3(kWarp), 0, small);
  });
}

}  // namespace dt::cuda
